// ONNX activations, and Softmax over images.
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

[[nodiscard]] Result<void> convert_relu(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_leaky_relu(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_elu(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_sigmoid(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_tanh(const OnnxNode& node, OnnxBuilder& builder);
// Before operator set 13 Softmax flattened all axes from its own on: refused.
[[nodiscard]] Result<void> convert_softmax(const OnnxNode& node, OnnxBuilder& builder);

// Whether `axis` is that of the images; negative ones count from the last.
[[nodiscard]] bool is_image_axis(std::int64_t axis, int spatial_axes);

}  // namespace znni
