// Outputs that repeat each voxel that the file's network computes, so that they belong to the volume voxel by voxel
// (planner/network/padding.hpp).
#pragma once

#include <vector>

#include "planner/network/network.hpp"

namespace znni {

// Returns whether outputs are repeated by different strides.
[[nodiscard]] bool outputs_differ_in_stride(const std::vector<NamedTensor>& outputs);

// Returns the smallest stride of an output, axis by axis.
[[nodiscard]] Vec3 min_output_stride(const Network& network);

// Fails unless the last voxels are repeated as often as network.output_stride says, or a multiple of that. Those of
// each of several outputs must be repeated as often as it says besides. Requires at least one node, and that nodes and
// the outputs' channels are checked.
[[nodiscard]] Result<void> check_output_stride(const Network& network);

}  // namespace znni
