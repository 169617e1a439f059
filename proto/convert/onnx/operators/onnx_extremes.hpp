// ONNX Max and Min of tensors, voxel by voxel.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Convert the maximum or minimum of tensors with equal numbers of channels, pair by pair: max(a, b) = relu(a - b) + b,
// and min(a, b) = a - relu(a - b), rounded as the larger of the two. Fail for constants, which a Clip has.
[[nodiscard]] Result<void> convert_max(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_min(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
