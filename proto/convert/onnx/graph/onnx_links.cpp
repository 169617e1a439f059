#include "proto/convert/onnx/graph/onnx_links.hpp"

#include <algorithm>

namespace znni {

OnnxLinks::OnnxLinks(const OnnxGraph& graph) : graph_(graph) {
  for (const onnx::NodeProto* node : graph.nodes) {
    for (const std::string& output : node->output()) writers_.emplace(output, node);
    for (const std::string& input : node->input()) readers_[input].push_back(node);
  }
}

const onnx::NodeProto* OnnxLinks::writer(const onnx::NodeProto& node, int index) const {
  if (index >= node.input_size()) return nullptr;
  const auto found = writers_.find(node.input(index));
  return found == writers_.end() ? nullptr : found->second;
}

const onnx::NodeProto* OnnxLinks::only_reader(const onnx::NodeProto& node) const {
  if (node.output_size() == 0) return nullptr;
  const auto found = readers_.find(node.output(0));
  return found == readers_.end() || found->second.size() != 1 ? nullptr : found->second.front();
}

bool OnnxLinks::reads_constant(const onnx::NodeProto& node) const {
  const auto end = node.input().begin() + std::min(node.input_size(), 2);
  return std::any_of(node.input().begin(), end,
                     [this](const std::string& input) { return graph_.constants.contains(input); });
}

}  // namespace znni
