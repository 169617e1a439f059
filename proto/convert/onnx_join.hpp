// ONNX operators in which branches meet, and those that pass their input on when a net is only run.
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

// Two tensors of equal images; with a constant it is a shift (proto/convert/onnx_scale_shift.hpp).
[[nodiscard]] Result<void> convert_add(const OnnxNode& node, OnnxBuilder& builder);
// Over images.
[[nodiscard]] Result<void> convert_concat(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_identity(const OnnxNode& node, OnnxBuilder& builder);
// Its mask may not be used.
[[nodiscard]] Result<void> convert_dropout(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
