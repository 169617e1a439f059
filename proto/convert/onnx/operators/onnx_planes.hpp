// Split of an axis into its voxels, and Concat of them, each several times: upsampling by nearest neighbours, as Keras'
// UpSampling3D is exported for volumes of fixed extents.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Notes the planes of a tensor along `axis`, one voxel each.
[[nodiscard]] Result<void> split_planes(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& turned,
                                        int axis);

// Converts a Concat of planes along `axis`, which may be negative. Fails for any but all planes of one tensor, in
// order, each as often as the others.
[[nodiscard]] Result<void> join_planes(const OnnxNode& node, OnnxBuilder& builder, std::int64_t axis);

}  // namespace znni
