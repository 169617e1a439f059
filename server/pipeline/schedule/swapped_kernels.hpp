// Kernels of a net that is streamed along y or x, with their axes swapped as its geometry has them.
#pragma once

#include <span>
#include <vector>

#include "planner/geometry/geometry.hpp"
#include "planner/network/network.hpp"

namespace znni {

// Copies those of all convolutions of `geometry` to `to`, host memory of kernel_bytes(network) bytes
// (planner/network/swap_axes.hpp) that must outlive the schedules that take them; `weights` are those of its nodes. One
// span per node, empty if it is not a convolution; none at all if no axes are swapped, for then the weights serve as
// they are.
[[nodiscard]] std::vector<std::span<const float>> swapped_kernels(const Geometry& geometry,
                                                                  std::span<const NodeWeights> weights, std::byte* to);

}  // namespace znni
