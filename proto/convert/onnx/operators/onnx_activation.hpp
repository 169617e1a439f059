// ONNX activations.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

[[nodiscard]] Result<void> convert_relu(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_leaky_relu(const OnnxNode& node, OnnxBuilder& builder);
// Converts a PRelu with one slope for all channels, or one for each.
[[nodiscard]] Result<void> convert_prelu(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_elu(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_sigmoid(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_tanh(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_softplus(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_hard_swish(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_mish(const OnnxNode& node, OnnxBuilder& builder);
// Gelu by the error function, or by tanh.
[[nodiscard]] Result<void> convert_gelu(const OnnxNode& node, OnnxBuilder& builder);
// Swish with an alpha of 1.
[[nodiscard]] Result<void> convert_swish(const OnnxNode& node, OnnxBuilder& builder);
// An Elu, then a scale.
[[nodiscard]] Result<void> convert_selu(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
