// The table of supported ONNX operators. To add one, add a row and a function that converts its node.
#pragma once

#include <span>
#include <string_view>

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// How the refusal of an operator that is not supported begins.
inline constexpr std::string_view not_an_operator = "operator is not supported";

// Returns the table, sorted by name.
[[nodiscard]] std::span<const OnnxOperator> onnx_operators();

// Returns the node's row; nullptr if its operator is not supported.
[[nodiscard]] const OnnxOperator* find_onnx_operator(const onnx::NodeProto& node);

// Reads one node of a graph; the error does not name it.
[[nodiscard]] Result<void> convert_node(const onnx::NodeProto& node, OnnxBuilder& builder);

}  // namespace znni
