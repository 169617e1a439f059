#include "proto/convert/onnx/graph/onnx_arithmetic.hpp"

#include <algorithm>

namespace znni {
namespace {

// Returns whether the node runs graphs of its own, which may read any tensor.
bool has_graph(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(), [](const onnx::AttributeProto& attribute) {
    return attribute.type() == onnx::AttributeProto::GRAPH || attribute.type() == onnx::AttributeProto::GRAPHS;
  });
}

// Returns what the node's outputs are computed from, by its inputs. A node without inputs may draw random numbers.
Arithmetic computed_from(const onnx::NodeProto& node, const OnnxGraph& graph, const OnnxArithmetic& before) {
  if (is_operator(node, "Shape") || is_operator(node, "Size")) return Arithmetic::of_shapes;
  if (node.input_size() == 0 || has_graph(node)) return Arithmetic::none;
  for (const std::string& input : node.input()) {
    const bool is_known = input.empty() || graph.constants.contains(input) || before.of(input) != Arithmetic::none;
    if (!is_known) return Arithmetic::none;
  }
  return std::max(Arithmetic::of_constants, before.read_by(node));
}

}  // namespace

OnnxArithmetic::OnnxArithmetic(const OnnxGraph& graph) {
  for (const onnx::NodeProto* node : graph.nodes) {
    const Arithmetic own = computed_from(*node, graph, *this);
    if (own == Arithmetic::none) continue;
    for (const std::string& output : node->output()) tensors_.emplace(output, own);
  }
}

Arithmetic OnnxArithmetic::of(const std::string& tensor) const {
  const auto found = tensors_.find(tensor);
  return found == tensors_.end() ? Arithmetic::none : found->second;
}

Arithmetic OnnxArithmetic::of(const onnx::NodeProto& node) const {
  return node.output_size() == 0 ? Arithmetic::none : of(node.output(0));
}

Arithmetic OnnxArithmetic::read_by(const onnx::NodeProto& node) const {
  Arithmetic most = Arithmetic::none;
  for (const std::string& input : node.input()) most = std::max(most, of(input));
  return most;
}

}  // namespace znni
