#include "proto/convert/onnx/graph/onnx_channels_last.hpp"

#include <algorithm>
#include <vector>

#include "proto/convert/onnx/graph/onnx_inputs.hpp"

namespace znni {
namespace {

// Returns whether a Transpose of this many axes moves the last one behind the batch.
bool moves_last_axis(const onnx::NodeProto& node, int axes) {
  const auto perm = std::find_if(node.attribute().begin(), node.attribute().end(),
                                 [](const onnx::AttributeProto& attribute) { return attribute.name() == "perm"; });
  if (perm == node.attribute().end() || perm->ints_size() != axes || perm->ints(0) != 0) return false;
  for (int axis = 1; axis < axes; ++axis) {
    if (perm->ints(axis) != (axis == 1 ? axes - 1 : axis - 1)) return false;
  }
  return true;
}

bool changes_axes(const onnx::NodeProto& node) {
  return is_operator(node, "Reshape") || is_operator(node, "Squeeze") || is_operator(node, "Unsqueeze");
}

}  // namespace

bool has_channels_last(const OnnxGraph& graph) {
  if (graph.inputs.size() != 1) return false;
  const int axes = graph.inputs.front()->type().tensor_type().shape().dim_size();
  if (axes < 3 || axes > 5) return false;
  const std::int64_t last = declared_channels(*graph.inputs.front(), axes - 1);
  const std::vector<std::int64_t> weights = first_weights(graph);
  const std::int64_t wanted = weights.size() > 1 ? weights[1] : 0;
  if (wanted > 0 && declared_channels(*graph.inputs.front()) == wanted && last != wanted) return false;
  const bool one_channel = last == 1;
  bool is_moved = false;
  for (const onnx::NodeProto* node : graph.nodes) {
    if (std::find(node->input().begin(), node->input().end(), graph.input) == node->input().end()) continue;
    if (is_operator(*node, "Shape")) continue;
    const bool moves =
        is_operator(*node, "Transpose") ? moves_last_axis(*node, axes) : one_channel && changes_axes(*node);
    if (!moves) return false;
    is_moved = true;
  }
  return is_moved;
}

}  // namespace znni
