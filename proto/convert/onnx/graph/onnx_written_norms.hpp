// Normalisations over one axis that exporters write as several nodes: ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "proto/convert/onnx/graph/onnx_links.hpp"

namespace znni {

// Nodes that together compute (x - mean) / sqrt(variance + epsilon) along an axis. A scale and a shift are none of
// them.
struct OnnxWrittenNorm {
  std::string x;
  std::int64_t axis = 1;  // as the file counts it
  float epsilon = 0;
  const onnx::NodeProto* last = nullptr;
};

// Finds them where nothing else reads the values between the nodes. The quotient may be a product with a Reciprocal,
// the square a product, and the difference from the mean may be computed twice.
class OnnxWrittenNorms {
 public:
  // `graph` must outlive the result.
  explicit OnnxWrittenNorms(const OnnxGraph& graph);

  // Returns the normalisation that the node is a part of; nullptr if it is of none.
  [[nodiscard]] const OnnxWrittenNorm* of(const onnx::NodeProto& node) const;

 private:
  using Nodes = std::vector<const onnx::NodeProto*>;
  // The sum of a variance and epsilon.
  struct Sum {
    const onnx::NodeProto* node = nullptr;
    const onnx::NodeProto* variance = nullptr;  // writes it
    float epsilon = 0;
  };
  [[nodiscard]] std::optional<Sum> sum_below(const onnx::NodeProto& root) const;
  [[nodiscard]] Nodes variance_of(const onnx::NodeProto* spread) const;
  [[nodiscard]] Nodes quotient_by(const onnx::NodeProto& root, const onnx::NodeProto& off) const;
  void find(const onnx::NodeProto& root);
  [[nodiscard]] bool are_alone(const Nodes& nodes) const;

  const OnnxGraph& graph_;
  OnnxLinks links_;
  std::unordered_map<std::string, int> reads_;  // tensor -> how often it is read, by inner graphs and as an output, too
  std::vector<OnnxWrittenNorm> norms_;
  std::unordered_map<const onnx::NodeProto*, std::size_t> parts_;  // node -> index of its normalisation
};

}  // namespace znni
