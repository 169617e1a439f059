// Kernels of a net that is streamed along y or x, with their axes exchanged as its geometry has them.
#pragma once

#include <span>
#include <vector>

#include "planner/geometry/geometry.hpp"
#include "planner/network/network.hpp"

namespace znni {

// Copies those of all convolutions of `geometry` to `to`, host memory of kernel_bytes(network) bytes
// (planner/network/exchange.hpp) that must outlive whoever takes them; `weights` are those of its nodes. One span per
// node, empty where it is no convolution; none at all where no axes are exchanged, for then the weights serve as they
// are.
[[nodiscard]] std::vector<std::span<const float>> exchanged_kernels(const Geometry& geometry,
                                                                    std::span<const NodeWeights> weights,
                                                                    std::byte* to);

}  // namespace znni
