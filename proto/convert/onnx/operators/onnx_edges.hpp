// Voxels that are copied outwards: Pad with mode edge or reflect, and Resize by one voxel.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Appends what repeats the voxels at the border of `value` outwards, `edges` times at the ends of each axis, as a part
// of the node. Returns its value.
[[nodiscard]] int append_edges(const OnnxNode& node, OnnxBuilder& builder, int value, const Border& edges);

// Appends likewise what reflects the voxels beside those at the border: as many at each end as `around` says.
[[nodiscard]] int append_reflections(const OnnxNode& node, OnnxBuilder& builder, int value, const Border& around);

}  // namespace znni
