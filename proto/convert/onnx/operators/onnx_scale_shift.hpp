// ONNX operators that scale and shift each channel: BatchNormalization, and arithmetic with constants.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Returns whether a constant of these extents, aligned with the last axes of [N][f][spatial...], is one number or one
// per channel.
[[nodiscard]] bool is_per_channel(const std::vector<std::int64_t>& dims, std::int64_t f, int spatial_axes);

// Returns the scale and the shift of a BatchNormalization of `count` channels or numbers, by the recorded statistics:
// scale = gamma / sqrt(variance + epsilon), shift = beta - mean * scale.
[[nodiscard]] Result<NodeWeights> batch_normalization_of(const OnnxNode& node, const OnnxBuilder& builder,
                                                         std::int64_t count);
// Converts one of channels.
[[nodiscard]] Result<void> convert_batch_normalization(const OnnxNode& node, OnnxBuilder& builder);

// Convert an operation of a tensor and a constant, which is one number or one per channel. Either may be the first
// operand; a constant that is divided by a tensor is a quotient of tensors, and so is a Reciprocal.
[[nodiscard]] Result<void> convert_mul_by_constant(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_div_by_constant(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_div_of_constant(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_reciprocal(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_sub_of_constant(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_add_of_constant(const OnnxNode& node, OnnxBuilder& builder);

// Appends the value times -1, a part of the node. Returns it.
int append_negative(const OnnxNode& node, OnnxBuilder& builder, int value);

}  // namespace znni
