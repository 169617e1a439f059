// Outputs that repeat each voxel that the file's network computes, so that they belong to the volume voxel by voxel
// (planner/network/padding.hpp).
#pragma once

#include "planner/network/network.hpp"

namespace znni {

// Fails unless the last voxels are repeated as often as network.output_stride says, or a multiple of that. Requires at
// least one node, whose inputs are checked.
[[nodiscard]] Result<void> check_output_stride(const Network& network);

}  // namespace znni
