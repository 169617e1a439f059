// The graph of an ONNX model, indexed: its constants, and the nodes that the output needs, each after the nodes that it
// reads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "primitives/core/result.hpp"

namespace znni {

// Operator sets that are read. In all of them the supported operators have the same meaning, except for differences
// that the operators' own code handles. Newer sets are refused until a maintainer has checked them.
inline constexpr std::int64_t oldest_opset = 7;
inline constexpr std::int64_t newest_opset = 28;

// An indexed graph. Refers to the model that it was made from.
struct OnnxGraph {
  std::int64_t opset = 0;
  std::string input;                                // the only one, or what `split` reads
  std::vector<const onnx::ValueInfoProto*> inputs;  // those that the outputs depend on, in the file's order
  bool channels_last = false;                       // the only input is [N][spatial...][C]
  // Split of the channels of `input` into the inputs, the first node; nullptr if there is one input.
  std::unique_ptr<onnx::NodeProto> split;
  std::string output;                // the only one, or what `join` writes
  std::vector<std::string> outputs;  // those that are read, in order
  // Concat of the outputs' channels, the last node; nullptr if there is one output.
  std::unique_ptr<onnx::NodeProto> join;
  // Initializers, outputs of Constant nodes, and outputs of Identity nodes whose input is constant.
  std::map<std::string, const onnx::TensorProto*> constants;
  std::set<std::string> names;  // of all tensors but those of inner graphs
  // Nodes that the outputs depend on, in topological order; otherwise in the file's order.
  std::vector<const onnx::NodeProto*> nodes;
  // Tensors made of Constant nodes that hold plain numbers.
  std::vector<std::unique_ptr<onnx::TensorProto>> made;
};

// Name of the node that makes several inputs of one, and name of the one that joins several outputs.
inline constexpr std::string_view split_name = "inputs";
inline constexpr std::string_view join_name = "outputs";

// Indexes the model's graph; `model` must outlive the result. Reads the outputs that `wanted` names, in that order, or
// all if it names none. Fails for an operator set out of range, without an input or an output, or if a wanted output is
// missing or stands twice. It also fails for tensors that two nodes or no node write, and for cycles.
[[nodiscard]] Result<OnnxGraph> make_onnx_graph(const onnx::ModelProto& model,
                                                const std::vector<std::string>& wanted = {});

// Returns the channels that an input of the graph declares along `axis`; 0 if it leaves them open.
[[nodiscard]] std::int64_t declared_channels(const onnx::ValueInfoProto& input, int axis = 1);

// Returns the names as a list for errors, of many the first.
[[nodiscard]] std::string names_in_quotes(const std::vector<std::string>& names);

// Returns the tensors that the node reads, and those that graphs within it read: of branches and loops. The latter may
// be of the inner graph itself.
[[nodiscard]] std::vector<std::string> tensors_read_by(const onnx::NodeProto& node);

// Returns a node's name for errors: "node 'conv_3' (Conv)", or its first output if it has no name.
[[nodiscard]] std::string called(const onnx::NodeProto& node);
// Returns the node's name, or that of its first output if it has none.
[[nodiscard]] std::string name_of(const onnx::NodeProto& node);
// Returns whether the node is ONNX's own operator of this name.
[[nodiscard]] bool is_operator(const onnx::NodeProto& node, std::string_view name);

}  // namespace znni
