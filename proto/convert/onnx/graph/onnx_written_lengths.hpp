// Normalisations by the length of vectors (ReduceL2), which exporters write as several nodes.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "proto/convert/onnx/graph/onnx_links.hpp"

namespace znni {

enum class WrittenLengthKind { unit, response };

// Nodes that together compute, of the lengths of x along `axes`,
// unit: x / max(length, epsilon), or x / length, of which epsilon is 0;
// response: x length / (the mean of the lengths along `mean_axis` + epsilon).
// Axes are counted as in the file.
struct OnnxWrittenLength {
  WrittenLengthKind kind = WrittenLengthKind::unit;
  std::string x;
  std::vector<std::int64_t> axes;
  std::int64_t mean_axis = 0;
  float epsilon = 0;
  const onnx::NodeProto* last = nullptr;
};

// Finds them where nothing else reads the values between the nodes.
class OnnxWrittenLengths {
 public:
  // `graph` must outlive the result.
  explicit OnnxWrittenLengths(const OnnxGraph& graph);

  // Returns what the node is a part of; nullptr if that is nothing of the kind.
  [[nodiscard]] const OnnxWrittenLength* of(const onnx::NodeProto& node) const;

 private:
  using Nodes = std::vector<const onnx::NodeProto*>;

  void find(const onnx::NodeProto& length);
  [[nodiscard]] std::optional<OnnxWrittenLength> unit_of(const onnx::NodeProto& length, Nodes& nodes) const;
  [[nodiscard]] std::optional<OnnxWrittenLength> response_of(const onnx::NodeProto& length, Nodes& nodes) const;
  [[nodiscard]] std::vector<const onnx::NodeProto*> readers(const onnx::NodeProto& node) const;
  [[nodiscard]] const onnx::NodeProto* only_reader(const onnx::NodeProto& node, std::string_view name) const;
  [[nodiscard]] std::optional<float> number(const std::string& tensor) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> axes_of(const onnx::NodeProto& reduction) const;

  const OnnxGraph& graph_;
  std::unordered_map<std::string, Nodes> readers_;  // of a tensor; nullptr for the graph's end and for inner graphs
  std::vector<OnnxWrittenLength> lengths_;
  std::unordered_map<const onnx::NodeProto*, std::size_t> parts_;  // node -> index of its length
};

}  // namespace znni
