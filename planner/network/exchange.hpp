// A network with z and another axis exchanged: what geometry, schedule and pipeline do along z they then do along that
// one. Exchanged twice, everything is as it was.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "planner/network/network.hpp"

namespace znni {

// z and `axis` (0: nothing, 1: y, 2: x) exchanged.
[[nodiscard]] constexpr Vec3 exchanged(Vec3 v, int axis) {
  const std::int64_t other = v[axis];
  v[axis] = v.z;
  v.z = other;
  return v;
}

// "z", "y", "x".
[[nodiscard]] std::string_view axis_name(int axis);

// Windows, strides and dilations of all nodes; names, order and images stay.
[[nodiscard]] Network exchanged(Network network, int axis);

// Returns whether exchanging axes keeps what the network means: a shuffle reads its channels in the order of the axes.
[[nodiscard]] bool can_exchange(const Network& network);

// Bytes of the kernels of all convolutions.
[[nodiscard]] std::int64_t kernel_bytes(const Network& network);

// Kernels of extent `k`, one after the other, to kernels of extent exchanged(k, axis). Of equal size, apart.
void exchange_kernels(std::span<const float> from, Vec3 k, int axis, std::span<float> to);

}  // namespace znni
