// ONNX Tile and Expand, where they repeat channels or nothing.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Converts a Tile along channels, such as VNet's of its input: a concatenation of the value with itself.
[[nodiscard]] Result<void> convert_tile(const OnnxNode& node, OnnxBuilder& builder);

// Converts an Expand of a single channel to several, and one that changes nothing.
[[nodiscard]] Result<void> convert_expand(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
