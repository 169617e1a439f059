// ONNX operators that normalise by the statistics of their input: of each channel, or of groups of channels.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Converts a normalisation of each channel. Behind a Reshape to [N][groups][the rest] it is one of each group, and the
// result stays in groups (proto/convert/onnx/operators/onnx_reshape.hpp).
[[nodiscard]] Result<void> convert_instance_normalization(const OnnxNode& node, OnnxBuilder& builder);

// Converts a normalisation of groups of neighbouring channels. Its scale and bias have one number per group before
// operator set 21, and one per channel from then on.
[[nodiscard]] Result<void> convert_group_normalization(const OnnxNode& node, OnnxBuilder& builder);
// Returns whether a BatchNormalization takes the statistics of its input: in training mode, or by its outputs.
[[nodiscard]] Result<bool> is_in_training(const OnnxNode& node, const OnnxBuilder& builder);

// Converts a BatchNormalization in training mode, of a batch of one: an instance normalisation.
[[nodiscard]] Result<void> convert_normalization_in_training(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
