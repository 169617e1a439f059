// ONNX MaxPool and AveragePool, without padding or dilation.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

[[nodiscard]] Result<void> convert_max_pool(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_average_pool(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
