// ONNX Softmax over images, and Transpose, which exporters put around it where it can only work on the last axis.
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

// Before operator set 13 Softmax flattens its axis and all that follow. That is a softmax over images where the
// images are the last axis (between two Transpose), or where one voxel is left; the latter is only noted here
// and settled by check_flattened().
[[nodiscard]] Result<void> convert_softmax(const OnnxNode& node, OnnxBuilder& builder);
// No computation; the result can be read by Softmax and by another Transpose that turns it back.
[[nodiscard]] Result<void> convert_transpose(const OnnxNode& node, OnnxBuilder& builder);

// The error where a Softmax that flattens does not have exactly one voxel, by the extents that the graph's input
// declares. Requires check() of the builder's network.
[[nodiscard]] Result<void> check_flattened(const OnnxGraph& graph, const OnnxBuilder& builder);

// Whether `axis` is that of the images; negative ones count from the last.
[[nodiscard]] bool is_image_axis(std::int64_t axis, int spatial_axes);

}  // namespace znni
