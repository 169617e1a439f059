// Networks that pad, and what they are by definition.
#pragma once

#include <string>
#include <vector>

#include "planner/network/padding.hpp"
#include "server/pipeline/engine.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

// A network as files have it: nodes pad, and it is not valid yet.
struct PaddedNetwork {
  Network network;
  NetworkWeights weights;
  std::vector<Border> pads;            // per node
  Vec3 declared = {};                  // extents of the input for which it was made; 0: any
  Vec3 output_stride = Vec3::cube(1);  // voxels of the volume for one of the last value
};

// Draws a network: convolutions of kernels 1 to 3, dilated or not, most of them padded on all sides, with residual
// additions, concatenations, crops, element-wise nodes and poolings of stride 1, padded or not, between.
[[nodiscard]] PaddedNetwork random_padded_network(Random& random);

// Draws a network in which poolings of stride 1, most of them padded, stand one behind the other, at its input, amid it
// or at its end, and behind a stride, with scales, shifts and activations between.
[[nodiscard]] PaddedNetwork random_stacked_network(Random& random);

// Returns the network's output for a volume [f_in][n] in float64: each node that pads reads its input with zeros around
// it, or, a max pooling or a mean of what is inside, with -infinity, or, an upsampling or a crop, with the voxels at
// the border again, or reflected. If an output has a stride, each voxel stands for all of the volume that it belongs
// to.
[[nodiscard]] oracle::Values padded_oracle(const PaddedNetwork& padded, Vec3 n, const oracle::Values& volume);

// Returns the network without padding; with nodes folded and fused if it is `fused`.
[[nodiscard]] LoadedNetwork valid_form(const PaddedNetwork& padded, bool fused);

// Returns whether nodes became a stack.
[[nodiscard]] bool has_stack(const Network& network);

// Returns a line for each node.
[[nodiscard]] std::string in_words(const Network& network);

// Draws a volume for which branches meet, a few periods larger than the smallest.
[[nodiscard]] Vec3 random_extent(const Network& network, Random& random);

// Runs a job on a random volume of extent n, normalised; returns the largest difference from the definition over its
// largest absolute value. Throws if the job fails.
[[nodiscard]] double error_of(Engine& engine, const PaddedNetwork& padded, Vec3 n, Random& random);

}  // namespace znni::test
