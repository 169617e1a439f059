// ONNX operators that scale and shift each image: BatchNormalization, and arithmetic with constants.
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

// With its recorded statistics: scale = gamma / sqrt(variance + epsilon), shift = beta - mean * scale.
[[nodiscard]] Result<void> convert_batch_normalization(const OnnxNode& node, OnnxBuilder& builder);

// A tensor and a constant that is one number or one per image; either may stand first, but nothing is divided by
// a tensor.
[[nodiscard]] Result<void> convert_mul(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_div(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_sub(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_add_of_constant(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
