// The table of supported ONNX operators. To add one, add a row and a function that converts its node.
#pragma once

#include <span>
#include <string_view>

#include "proto/convert/onnx_builder.hpp"

namespace znni {

// A node with its attributes, which its row of the table allows.
struct OnnxNode {
  const onnx::NodeProto& proto;
  const OnnxAttributes& attributes;
};

struct OnnxOperator {
  std::string_view name;
  int min_inputs = 1;
  int max_inputs = 1;
  std::span<const std::string_view> attributes;  // those of all operator sets
  Result<void> (*convert)(const OnnxNode& node, OnnxBuilder& builder);
};

// How the refusal of an operator that is not supported begins.
inline constexpr std::string_view not_an_operator = "operator is not supported";

// Returns the table, sorted by name.
[[nodiscard]] std::span<const OnnxOperator> onnx_operators();

// Returns the node's row; nullptr if its operator is not supported.
[[nodiscard]] const OnnxOperator* find_onnx_operator(const onnx::NodeProto& node);

// Reads one node of a graph; the error does not name it.
[[nodiscard]] Result<void> convert_node(const onnx::NodeProto& node, OnnxBuilder& builder);

}  // namespace znni
