// ONNX Conv: valid, stride 1, one group; bias and dilation.
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

[[nodiscard]] Result<void> convert_conv(const OnnxNode& node, OnnxBuilder& builder);

// Fails if the node pads: auto_pad of SAME, or pads other than 0.
[[nodiscard]] Result<void> refuse_padding(const OnnxAttributes& attributes);

}  // namespace znni
