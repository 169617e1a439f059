// ONNX activations.
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

[[nodiscard]] Result<void> convert_relu(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_leaky_relu(const OnnxNode& node, OnnxBuilder& builder);
// PRelu with one slope for all channels, which is a LeakyRelu.
[[nodiscard]] Result<void> convert_prelu(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_elu(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_sigmoid(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_tanh(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
