// ONNX operators that cut off what is below or above a bound.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Converts a Clip with constant bounds. From 0 up it is a ReLU or a capped one. Where 0 lies between the bounds, each
// side is one; where both are above or below 0, the values are shifted to 0 and back. Without bounds it does nothing.
[[nodiscard]] Result<void> convert_clip(const OnnxNode& node, OnnxBuilder& builder);

// Converts min(max(alpha x + beta, 0), 1).
[[nodiscard]] Result<void> convert_hard_sigmoid(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
