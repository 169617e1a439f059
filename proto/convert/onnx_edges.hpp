// Voxels at the border that are repeated outwards: Pad with mode edge, and Resize by one voxel.
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

// Appends what repeats the voxels at the border of `value` outwards, `edges` times at the ends of each axis, as a part
// of the node. Returns its value.
[[nodiscard]] int append_edges(const OnnxNode& node, OnnxBuilder& builder, int value, const Border& edges);

}  // namespace znni
