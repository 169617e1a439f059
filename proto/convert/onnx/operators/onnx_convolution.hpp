// ONNX Conv: pads, strides, dilation, groups, bias.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Returns the attribute `group` of a convolution, 1 or more.
[[nodiscard]] Result<std::int64_t> groups_of(const OnnxAttributes& attributes);

[[nodiscard]] Result<void> convert_conv(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
