// ONNX operators that join branches, and operators that have no effect when a net is run.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Converts an Add of two tensors with equal numbers of channels. An Add of a constant is a shift
// (proto/convert/onnx/operators/onnx_scale_shift.hpp).
[[nodiscard]] Result<void> convert_add(const OnnxNode& node, OnnxBuilder& builder);
// Converts a Sub of two such tensors: the sum of the first and the second times -1. One of a constant is a shift.
[[nodiscard]] Result<void> convert_sub(const OnnxNode& node, OnnxBuilder& builder);
// Converts a Mul of two tensors with equal numbers of channels, or of one with a tensor of one channel. A Mul by a
// constant is a scale.
[[nodiscard]] Result<void> convert_mul(const OnnxNode& node, OnnxBuilder& builder);
// Converts a Div of two such tensors: the second may have one channel. One by a constant is a scale.
[[nodiscard]] Result<void> convert_div(const OnnxNode& node, OnnxBuilder& builder);
// Converts a Concat of channels.
[[nodiscard]] Result<void> convert_concat(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_identity(const OnnxNode& node, OnnxBuilder& builder);
// Passes the input of a Cast to floating point on, whatever its width: the net is computed in float32.
[[nodiscard]] Result<void> convert_cast(const OnnxNode& node, OnnxBuilder& builder);
// Passes a Dropout's input on. Fails if its mask is used.
[[nodiscard]] Result<void> convert_dropout(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
