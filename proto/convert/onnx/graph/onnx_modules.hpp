// Modules that exporters write as several nodes: GELU is Div, Erf, Add, Mul.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "proto/convert/onnx/graph/onnx_links.hpp"
#include "proto/convert/onnx/graph/onnx_words.hpp"

namespace znni {

// One of them in a graph.
struct OnnxModule {
  OnnxWords words;
  const onnx::NodeProto* first = nullptr;
  std::string input;  // tensor that has the extents and channels of the output; "": that is not known
};

// Finds the modules that no operator of onnx_operators() computes, in a graph that must outlive the result.
class OnnxModules {
 public:
  explicit OnnxModules(const OnnxGraph& graph);

  // Returns the module that the node is a part of; nullptr if it is of none.
  [[nodiscard]] const OnnxModule* of(const onnx::NodeProto& node) const;

 private:
  using Nodes = std::vector<const onnx::NodeProto*>;  // of a module, in their order
  void add(const OnnxWords& words, const Nodes& nodes, const std::string& input);
  void find_instance_norm(const onnx::NodeProto& node, const OnnxLinks& links);
  void find_gelu(const onnx::NodeProto& node, const OnnxLinks& links);
  void find_shuffle(const onnx::NodeProto& node, const OnnxLinks& links);
  void find_gate(const onnx::NodeProto& node, const OnnxLinks& links);

  std::vector<OnnxModule> modules_;
  std::unordered_map<const onnx::NodeProto*, std::size_t> parts_;  // node -> index of its module
};

}  // namespace znni
