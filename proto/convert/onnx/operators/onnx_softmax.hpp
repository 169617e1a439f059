// ONNX Softmax and LogSoftmax over channels.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Convert a Softmax or a LogSoftmax. Before operator set 13, these flatten their axis and all axes after it. That is a
// softmax over channels if channels are the last axis (between two Transpose) or if there is one voxel. The latter is
// only noted here; check_flattened() checks it.
[[nodiscard]] Result<void> convert_softmax(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_log_softmax(const OnnxNode& node, OnnxBuilder& builder);

// Converts the logarithm of a Softmax to a log-softmax of what that reads. Fails for any other logarithm.
[[nodiscard]] Result<void> convert_log(const OnnxNode& node, OnnxBuilder& builder);

// Fails if a Softmax that flattens does not have exactly one voxel, given the extents that the graph's input declares.
// Requires check() of the builder's network.
[[nodiscard]] Result<void> check_flattened(const OnnxGraph& graph, const OnnxBuilder& builder);

// Returns whether `axis` is that of the channels; negative axes count from the last.
[[nodiscard]] bool is_channel_axis(std::int64_t axis, int spatial_axes);

}  // namespace znni
