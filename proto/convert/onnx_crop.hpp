// ONNX operators that take away the border of a tensor.
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

// Constant starts and ends over spatial axes, steps of 1. What counts from the other side of an extent than it must, a
// start below 0 or an end above, needs an extent that the graph's input declares.
[[nodiscard]] Result<void> convert_slice(const OnnxNode& node, OnnxBuilder& builder);
// By nothing at all, as exporters write it before an AveragePool, or by less than nothing, which crops.
[[nodiscard]] Result<void> convert_pad(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
