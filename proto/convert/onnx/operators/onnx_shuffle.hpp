// Pixel shuffles: channels become voxels. Exporters write them as Reshape, Transpose and Reshape, of two axes also as
// DepthToSpace.
#pragma once

#include <vector>

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Notes a Reshape of channels to [N, f / voxels, factor..., spatial...], which is `target`, without computation; only
// interleave() reads its output.
[[nodiscard]] Result<void> split_channels(const OnnxNode& node, OnnxBuilder& builder, int value,
                                          const std::vector<VolumeNumber>& target);

// Notes the Transpose that puts the voxels of channels beside those along the same axis; only join_voxels() reads its
// output. Fails for any other order.
[[nodiscard]] Result<void> interleave(const OnnxNode& node, OnnxBuilder& builder, const SplitValue& split);

// Converts the Reshape that makes one axis of each two.
[[nodiscard]] Result<void> join_voxels(const OnnxNode& node, OnnxBuilder& builder, const SplitValue& split);

// Converts a DepthToSpace of two spatial axes, of both modes.
[[nodiscard]] Result<void> convert_depth_to_space(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
