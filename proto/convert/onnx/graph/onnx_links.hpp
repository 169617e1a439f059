// The nodes of an ONNX graph that write and read each of its tensors.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "proto/convert/onnx/graph/onnx_graph.hpp"

namespace znni {

// Refers to the graph, which must outlive it.
class OnnxLinks {
 public:
  explicit OnnxLinks(const OnnxGraph& graph);

  // Returns the node that computes input `index`; nullptr if there is none.
  [[nodiscard]] const onnx::NodeProto* writer(const onnx::NodeProto& node, int index) const;
  // Returns the node that reads the first output if it is the only one; else nullptr.
  [[nodiscard]] const onnx::NodeProto* only_reader(const onnx::NodeProto& node) const;
  // Returns whether one of the first two inputs is a constant.
  [[nodiscard]] bool reads_constant(const onnx::NodeProto& node) const;

 private:
  const OnnxGraph& graph_;
  std::unordered_map<std::string, const onnx::NodeProto*> writers_;
  std::unordered_map<std::string, std::vector<const onnx::NodeProto*>> readers_;
};

}  // namespace znni
