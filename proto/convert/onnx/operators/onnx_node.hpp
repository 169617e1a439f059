// A node of an ONNX graph as the functions that convert it read it, and what a table of such functions has in a row.
#pragma once

#include <span>
#include <string_view>

#include "proto/convert/onnx/graph/onnx_builder.hpp"

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

}  // namespace znni
