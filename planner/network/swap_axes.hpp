// A network with z and another axis swapped: what geometry, schedule and pipeline do along z they then do along that
// one. Swapped twice, everything is as it was.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "planner/network/network.hpp"

namespace znni {

// Returns `v` with z and `axis` (0: nothing, 1: y, 2: x) swapped.
[[nodiscard]] constexpr Vec3 swap_axes(Vec3 v, int axis) {
  const std::int64_t other = v[axis];
  v[axis] = v.z;
  v.z = other;
  return v;
}

// Returns "z", "y" or "x".
[[nodiscard]] std::string_view axis_name(int axis);

// Swaps the axes of windows, strides and dilations of all nodes; names, order and channels stay.
[[nodiscard]] Network swap_axes(Network network, int axis);

// Returns whether swapping axes keeps what the network means. A shuffle reads its channels in the order of the axes,
// and a sum with a volume has one order of its voxels.
[[nodiscard]] bool can_swap_axes(const Network& network);

// Returns the bytes of the kernels of all convolutions.
[[nodiscard]] std::int64_t kernel_bytes(const Network& network);

// Copies kernels of extent `k`, one after the other, to kernels of extent swap_axes(k, axis). Both spans have one size
// and do not overlap.
void swap_kernel_axes(std::span<const float> from, Vec3 k, int axis, std::span<float> to);

}  // namespace znni
