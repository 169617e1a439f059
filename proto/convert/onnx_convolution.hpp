// ONNX Conv of one group: pads, strides, dilation, bias.
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

[[nodiscard]] Result<void> convert_conv(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
