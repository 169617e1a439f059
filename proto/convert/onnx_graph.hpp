// The graph of an ONNX model, indexed: what is constant, who produces what, and the nodes that the output
// needs in an order in which every one stands after those it reads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "primitives/core/result.hpp"

namespace znni {

// Operator sets that are read. The operators we support kept their meaning in all of them, but for what the
// operators' own code distinguishes; newer ones are refused until someone has looked.
inline constexpr std::int64_t oldest_opset = 7;
inline constexpr std::int64_t newest_opset = 28;

// Borrows from the model it was made of.
struct OnnxGraph {
  std::int64_t opset = 0;
  const onnx::ValueInfoProto* input = nullptr;
  std::string output;
  // Initializers, and the outputs of Constant nodes and of Identity nodes of constants.
  std::map<std::string, const onnx::TensorProto*> constants;
  // Nodes that compute something the output depends on, in topological order, otherwise as in the file.
  std::vector<const onnx::NodeProto*> nodes;
  // Tensors made of Constant nodes that hold plain numbers.
  std::vector<std::unique_ptr<onnx::TensorProto>> made;
};

// Errors: an operator set out of range; not one input and one output; tensors written twice or by nobody;
// cycles. `model` must outlive the result.
[[nodiscard]] Result<OnnxGraph> make_onnx_graph(const onnx::ModelProto& model);

// How errors call a node: "node 'conv_3' (Conv)"; by its first output where it has no name.
[[nodiscard]] std::string called(const onnx::NodeProto& node);
// Its name, or its first output's where it has none.
[[nodiscard]] std::string name_of(const onnx::NodeProto& node);
// Whether the operator is ONNX's own and of this name.
[[nodiscard]] bool is_operator(const onnx::NodeProto& node, std::string_view name);

}  // namespace znni
