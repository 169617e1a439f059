// What is pooled of all voxels, and what reads it.
//
// In the file such a tensor has one voxel per channel: [N][f][1][1][1], or [N][f] where its axes are left out. In the
// network its value has the extents of what was pooled, and that voxel everywhere (GlobalPool). So what joins it with
// voxels joins values of one extent. So what a node makes of such a tensor is right as long as it looks at no
// neighbours, and at the same channels: each operator that may read one stands here.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Returns whether the operator makes each number of its first input of that number alone, as activations do.
[[nodiscard]] bool makes_each_of_itself(const onnx::NodeProto& node);

// Returns whether the node reads a pooled tensor as one.
[[nodiscard]] bool reads_pooled(const onnx::NodeProto& node, const OnnxBuilder& builder);

// Returns the row of an operator that treats pooled tensors in its own way; nullptr for others.
[[nodiscard]] const OnnxOperator* find_pooled_operator(const onnx::NodeProto& node);

// Returns the axes of the pooled tensor that any other operator makes of one; 0 if it joins it with voxels. Fails if it
// would make something else of one voxel than of as many, or of [N, C] than of [N, C, 1, 1, 1].
[[nodiscard]] Result<int> pooled_axes_behind(const onnx::NodeProto& node, const OnnxBuilder& builder);

}  // namespace znni
