// Transposed convolutions, which a network has as a convolution to all voxels that it makes of one, and a shuffle. What
// is trained stays one: its voxels share a bias, and kernels have no taps where it has none.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/network/network.hpp"

namespace znni {

// Returns per node the voxels that a transposed convolution makes of one, if the node is its convolution; else 1.
[[nodiscard]] std::vector<std::int64_t> transposed_phases(const Network& network);

// Makes the gradients of the convolution those of the transposed one: the gradient of a bias is the sum of those of all
// voxels, and that of a kernel's element that is 0 is 0. `phases`: as above.
void tie_transposed(std::int64_t phases, const NodeWeights& weights, NodeWeights& gradients);

}  // namespace znni
