// Activations that exporters write as several nodes: GELU as Div, Erf, Add, Mul, Mul, SiLU as Sigmoid, Mul.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "planner/network/network.hpp"
#include "proto/convert/onnx/graph/onnx_links.hpp"

namespace znni {

// Nodes that together compute an activation of x.
struct OnnxGate {
  Activation activation;
  std::string x;
  const onnx::NodeProto* last = nullptr;  // writes the activation
};

// Finds GELU, SiLU, Hardswish and Mish, with exactly the constants of their definitions, where nothing else reads the
// values between the nodes. A module with other constants is none of them: its nodes stay what they are.
class OnnxGates {
 public:
  // `graph` must outlive the result.
  explicit OnnxGates(const OnnxGraph& graph);

  // Returns the activation that the node is a part of; nullptr if it is of none.
  [[nodiscard]] const OnnxGate* of(const onnx::NodeProto& node) const;

 private:
  using Nodes = std::vector<const onnx::NodeProto*>;

  // A tensor multiplied by a constant.
  struct Scaled {
    std::string tensor;
    double factor = 0;
  };
  [[nodiscard]] Scaled scaled_by(const onnx::NodeProto* node) const;
  [[nodiscard]] bool is_factor(const onnx::NodeProto* node, const std::string& of, double factor) const;
  [[nodiscard]] bool adds_one(const onnx::NodeProto& node) const;
  [[nodiscard]] double number(const std::string& tensor) const;
  [[nodiscard]] const onnx::NodeProto* only_reader(const onnx::NodeProto& node) const;
  [[nodiscard]] Nodes product_of(const onnx::NodeProto& sum, const std::string& x) const;
  [[nodiscard]] Nodes factor_of(const onnx::NodeProto* factor, const std::string& x, ActivationKind& kind) const;
  void find_gelu(const onnx::NodeProto& erf);
  void find_product(const onnx::NodeProto& product);
  void add(ActivationKind kind, const std::string& x, const Nodes& nodes);

  const OnnxGraph& graph_;
  OnnxLinks links_;
  std::unordered_map<std::string, int> reads_;  // tensor -> how often it is read, by inner graphs and as an output, too
  std::vector<OnnxGate> gates_;
  std::unordered_map<const onnx::NodeProto*, std::size_t> parts_;  // node -> index of its gate
};

}  // namespace znni
