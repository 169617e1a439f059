// Computes nodes of tensors that are known while a file is read: constants that exporters leave computed, and what a
// file computes of extents. Only integers, booleans and float32 of small tensors; weights are folded apart
// (proto/convert/onnx/folding/onnx_fold_weights.hpp).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "proto/convert/onnx/graph/onnx_attributes.hpp"
#include "proto/convert/onnx/graph/onnx_builder.hpp"
#include "proto/convert/onnx/graph/onnx_known.hpp"

namespace znni {

// A node whose inputs are known; nullopt for one that it lacks.
struct FoldNode {
  const onnx::NodeProto& proto;
  const OnnxAttributes& attributes;
  std::int64_t opset = 0;
  std::vector<std::optional<KnownTensor>> inputs;

  [[nodiscard]] bool has(std::size_t input) const { return input < inputs.size() && inputs[input].has_value(); }
  // Returns the integers at an input, or else of an attribute of that name. Fails if they depend on the volume.
  [[nodiscard]] Result<std::vector<std::int64_t>> integers(std::size_t input, std::string_view name) const;
};

struct FoldRow {
  std::string_view name;
  int min_inputs = 1;
  int max_inputs = 1;
  std::span<const std::string_view> attributes;  // those of all operator sets
  Result<KnownTensor> (*fold)(const FoldNode& node);
};

// Computes the node if its inputs are known, or if it asks for a tensor's extents. Returns false, and does nothing, for
// any other node. Fails if the result is not the same for all volumes, where it has to be. What depends on the extents
// of guessed values is guessed, too.
[[nodiscard]] Result<bool> fold_node(const onnx::NodeProto& node, OnnxBuilder& builder);

// Returns whether a node of the graph, or of a graph within it, asks for extents or pads by them.
[[nodiscard]] bool reads_extents(const OnnxGraph& graph);

}  // namespace znni
