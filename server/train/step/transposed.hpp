// Transposed convolutions, which a network has as a convolution to all voxels that it makes of one, and a shuffle. What
// is trained stays one: its voxels share a bias, and kernels have no taps where it has none.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/network/network.hpp"

namespace znni {

// What ties the weights of a convolution that stands for a transposed one.
struct TransposedTies {
  std::int64_t phases = 1;   // voxels that it makes of one; 1: the convolution stands for itself
  std::vector<bool> absent;  // [phase][tap]: of taps that the transposed kernel has not; empty if it has all
};

// Returns the ties of each node. The network does not keep the extent of a transposed kernel: it is the least that
// holds all taps with a weight that is not 0. All taps are there if all weights are 0.
[[nodiscard]] std::vector<TransposedTies> transposed_ties(const Network& network, const NetworkWeights& weights);

// Makes the gradients of the convolution those of the transposed one: the gradient of a bias is the sum of those of all
// voxels, and that of an absent tap is 0.
void tie_transposed(const TransposedTies& ties, NodeWeights& gradients);

}  // namespace znni
