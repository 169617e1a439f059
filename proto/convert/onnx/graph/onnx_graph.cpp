#include "proto/convert/onnx/graph/onnx_graph.hpp"

#include <algorithm>
#include <set>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_attributes.hpp"
#include "proto/convert/onnx/graph/onnx_channels_last.hpp"

namespace znni {
namespace {

using Producers = std::map<std::string, int>;  // tensor -> node's index in the file
using Names = std::set<std::string>;

bool is_own_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

Result<std::int64_t> opset_of(const onnx::ModelProto& model) {
  std::int64_t opset = 0;
  for (const onnx::OperatorSetIdProto& imported : model.opset_import()) {
    if (is_own_domain(imported.domain())) opset = imported.version();
  }
  if (opset == 0) return corrupt("the model imports no operator set of ONNX");
  if (opset < oldest_opset || opset > newest_opset) {
    return unsupported("operator set " + std::to_string(opset) + " is not supported; " + std::to_string(oldest_opset) +
                       " to " + std::to_string(newest_opset) + " are");
  }
  return opset;
}

Result<void> find_initializers(const onnx::GraphProto& proto, OnnxGraph& graph) {
  if (proto.sparse_initializer_size() > 0) return unsupported("sparse initializers are not supported");
  for (const onnx::TensorProto& tensor : proto.initializer()) {
    if (!graph.constants.emplace(tensor.name(), &tensor).second) {
      return corrupt("initializer " + in_quotes(tensor.name()) + " stands twice");
    }
  }
  return {};
}

// Finds the inputs and returns their names. Models before IR version 4 list initializers among them.
Result<Names> find_inputs(const onnx::GraphProto& proto, OnnxGraph& graph) {
  Names names;
  for (const onnx::ValueInfoProto& input : proto.input()) {
    if (graph.constants.contains(input.name())) continue;
    if (input.name().empty()) return corrupt("an input of the graph has no name");
    if (!names.insert(input.name()).second) return corrupt("input " + in_quotes(input.name()) + " stands twice");
    graph.inputs.push_back(&input);
  }
  if (names.empty()) return unsupported("the graph has no input");
  return names;
}

// Returns the names of the file's outputs.
Result<std::vector<std::string>> outputs_of(const onnx::GraphProto& proto) {
  if (proto.output_size() == 0) return corrupt("the graph has no output");
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const onnx::ValueInfoProto& output : proto.output()) {
    if (output.name().empty()) return corrupt("an output of the graph has no name");
    if (!seen.insert(output.name()).second) return corrupt("output " + in_quotes(output.name()) + " stands twice");
    names.push_back(output.name());
  }
  return names;
}

// Returns the wanted outputs, or all if none is.
Result<std::vector<std::string>> find_outputs(const onnx::GraphProto& proto, const std::vector<std::string>& wanted) {
  Result<std::vector<std::string>> all = outputs_of(proto);
  if (!all || wanted.empty()) return all;
  const std::set<std::string> known(all->begin(), all->end());
  std::set<std::string> seen;
  for (const std::string& name : wanted) {
    if (!seen.insert(name).second) {
      return Error{ErrorCode::invalid_argument, "output " + in_quotes(name) + " is wanted twice; name it once"};
    }
    if (known.contains(name)) continue;
    return Error{ErrorCode::invalid_argument,
                 "output " + in_quotes(name) + " is wanted, which the file has not; it has " + names_in_quotes(*all)};
  }
  return wanted;
}

// Returns the first names in a row, and how many others there are. No tensor of the file's has that name, nor has
// `other`.
std::string joined_name(const std::vector<std::string>& names, const Names& inputs, const Producers& producers,
                        const OnnxGraph& graph, const std::string& other) {
  const auto is_taken = [&](const std::string& name) {
    return producers.contains(name) || graph.constants.contains(name) || inputs.contains(name) || name == other;
  };
  constexpr std::size_t max_named = 8;
  std::string joined = names.front();
  for (std::size_t i = 1; i < std::min(names.size(), max_named); ++i) joined += "," + names[i];
  if (names.size() > max_named) joined += "," + std::to_string(names.size() - max_named) + " more";
  while (is_taken(joined)) joined += "'";
  return joined;
}

// Returns a node of this operator on the channels.
std::unique_ptr<onnx::NodeProto> node_on_channels(std::string_view operation, std::string_view name) {
  auto node = std::make_unique<onnx::NodeProto>();
  node->set_op_type(std::string(operation));
  node->set_name(std::string(name));
  onnx::AttributeProto& axis = *node->add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(1);
  return node;
}

// Names the input, which is that of a node before all if there are several.
void split_input(const Names& names, const Producers& producers, OnnxGraph& graph) {
  graph.input = graph.inputs.front()->name();
  if (graph.inputs.size() == 1) return;
  std::vector<std::string> own;
  for (const onnx::ValueInfoProto* input : graph.inputs) own.push_back(input->name());
  graph.input = joined_name(own, names, producers, graph, "");
  graph.split = node_on_channels("Split", split_name);
  graph.split->add_input(graph.input);
  onnx::AttributeProto& sizes = *graph.split->add_attribute();
  sizes.set_name("split");
  sizes.set_type(onnx::AttributeProto::INTS);
  for (const onnx::ValueInfoProto* input : graph.inputs) {
    graph.split->add_output(input->name());
    sizes.add_ints(declared_channels(*input));
  }
}

// Names the output, which is that of a node behind all if there are several.
void join_outputs(const Names& inputs, const Producers& producers, OnnxGraph& graph) {
  graph.output = graph.outputs.front();
  if (graph.outputs.size() == 1) return;
  graph.output = joined_name(graph.outputs, inputs, producers, graph, graph.input);
  graph.join = node_on_channels("Concat", join_name);
  for (const std::string& output : graph.outputs) graph.join->add_input(output);
  graph.join->add_output(graph.output);
}

Result<Producers> find_producers(const onnx::GraphProto& proto, const Names& inputs, const OnnxGraph& graph) {
  Producers producers;
  for (int i = 0; i < proto.node_size(); ++i) {
    for (const std::string& output : proto.node(i).output()) {
      if (output.empty()) continue;
      const bool taken = inputs.contains(output) || graph.constants.contains(output);
      if (taken || !producers.emplace(output, i).second) {
        return corrupt(called(proto.node(i)) + ": tensor " + in_quotes(output) + " is written twice");
      }
    }
  }
  return producers;
}

// Returns the tensor that a Constant node holds; nullptr if no supported operator reads its kind.
const onnx::TensorProto* constant_of(const onnx::NodeProto& node, OnnxGraph& graph) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "value" && attribute.type() == onnx::AttributeProto::TENSOR) return &attribute.t();
    const bool one = attribute.name() == "value_float" && attribute.type() == onnx::AttributeProto::FLOAT;
    const bool many = attribute.name() == "value_floats" && attribute.type() == onnx::AttributeProto::FLOATS;
    if (!one && !many) continue;
    auto tensor = std::make_unique<onnx::TensorProto>();
    tensor->set_name(name_of(node));
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    if (one) tensor->add_float_data(attribute.f());
    if (many) {
      *tensor->mutable_float_data() = attribute.floats();
      tensor->add_dims(attribute.floats_size());
    }
    graph.made.push_back(std::move(tensor));
    return graph.made.back().get();
  }
  return nullptr;
}

void add_tensors_read(const onnx::GraphProto& graph, std::vector<std::string>& tensors);

void add_tensors_read(const onnx::NodeProto& node, std::vector<std::string>& tensors) {
  tensors.insert(tensors.end(), node.input().begin(), node.input().end());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.type() == onnx::AttributeProto::GRAPH) add_tensors_read(attribute.g(), tensors);
  }
}

void add_tensors_read(const onnx::GraphProto& graph, std::vector<std::string>& tensors) {
  for (const onnx::NodeProto& node : graph.node()) add_tensors_read(node, tensors);
  for (const onnx::ValueInfoProto& output : graph.output()) tensors.push_back(output.name());
}

// Returns the nodes that the outputs depend on. Walks back from them and stops at constants and at the `inputs`, of
// which `read` gets those that it finds.
Result<std::set<int>> needed_nodes(const onnx::GraphProto& proto, const OnnxGraph& graph, const Producers& producers,
                                   const Names& inputs, Names& read) {
  std::set<int> needed;
  std::vector<int> open;
  const auto visit = [&](const std::string& tensor) {
    const auto producer = producers.find(tensor);
    const bool is_input = producer == producers.end() && inputs.contains(tensor);
    if (is_input) read.insert(tensor);
    if (producer == producers.end()) return is_input || graph.constants.contains(tensor);
    if (needed.insert(producer->second).second) open.push_back(producer->second);
    return true;
  };
  for (const std::string& output : graph.outputs) {
    if (!visit(output)) return corrupt("no node writes the output " + in_quotes(output));
  }
  while (!open.empty()) {
    const onnx::NodeProto& node = proto.node(open.back());
    open.pop_back();
    for (const std::string& input : node.input()) {
      if (!input.empty() && !visit(input))
        return corrupt(called(node) + ": no node writes its input " + in_quotes(input));
    }
    for (const std::string& tensor : tensors_read_by(node)) visit(tensor);  // of an inner graph, or of this one
  }
  return needed;
}

// Returns the nodes in topological order: repeatedly takes the first node of the file whose inputs are all computed.
Result<std::vector<int>> topological_order(const onnx::GraphProto& proto, const std::set<int>& needed,
                                           const Producers& producers) {
  std::map<int, int> missing;               // node -> number of inputs not computed yet
  std::map<int, std::vector<int>> readers;  // node -> nodes that read it, once for each input
  for (const int i : needed) {
    int& count = missing[i];
    for (const std::string& input : tensors_read_by(proto.node(i))) {
      const auto producer = producers.find(input);
      if (producer == producers.end()) continue;
      readers[producer->second].push_back(i);
      ++count;
    }
  }
  std::set<int> ready;
  for (const auto& [node, count] : missing) {
    if (count == 0) ready.insert(node);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(node);
    for (const int reader : readers[node]) {
      if (--missing[reader] == 0) ready.insert(reader);
    }
  }
  if (order.size() == needed.size()) return order;
  for (const auto& [node, count] : missing) {
    if (count > 0) return corrupt(called(proto.node(node)) + ": is part of a cycle");
  }
  return order;
}

// Leaves the inputs that the outputs depend on; all if they depend on none.
void drop_unread_inputs(const Names& read, OnnxGraph& graph) {
  if (read.empty()) return;
  std::erase_if(graph.inputs, [&](const onnx::ValueInfoProto* input) { return !read.contains(input->name()); });
}

// Returns the names of all tensors of the file, and of those that stand for several inputs or outputs.
Names all_names(const Names& inputs, const Producers& producers, const OnnxGraph& graph) {
  Names names = inputs;
  for (const auto& [name, node] : producers) names.insert(name);
  for (const auto& [name, tensor] : graph.constants) names.insert(name);
  names.insert({graph.input, graph.output});
  return names;
}

// Notes the constant of a node that only holds or passes on one. Returns whether it is such a node.
bool note_constant(const onnx::NodeProto& node, OnnxGraph& graph) {
  const bool one_output = node.output_size() == 1;
  if (one_output && is_operator(node, "Constant")) {
    const onnx::TensorProto* tensor = constant_of(node, graph);
    if (tensor != nullptr) graph.constants.emplace(node.output(0), tensor);
    return tensor != nullptr;
  }
  if (!one_output || !is_operator(node, "Identity") || node.input_size() != 1) return false;
  const auto constant = graph.constants.find(node.input(0));
  if (constant == graph.constants.end()) return false;
  graph.constants.emplace(node.output(0), constant->second);
  return true;
}

}  // namespace

std::int64_t declared_channels(const onnx::ValueInfoProto& input, int axis) {
  const onnx::TensorShapeProto& shape = input.type().tensor_type().shape();
  return shape.dim_size() > axis && shape.dim(axis).has_dim_value() ? shape.dim(axis).dim_value() : 0;
}

std::string names_in_quotes(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

std::vector<std::string> tensors_read_by(const onnx::NodeProto& node) {
  std::vector<std::string> tensors;
  add_tensors_read(node, tensors);
  return tensors;
}

std::string name_of(const onnx::NodeProto& node) {
  if (!node.name().empty() || node.output_size() == 0) return node.name();
  return node.output(0);
}

std::string called(const onnx::NodeProto& node) {
  const std::string type = in_quotes(node.op_type());
  return "node " + in_quotes(name_of(node)) + " (" + type.substr(1, type.size() - 2) + ")";
}

bool is_operator(const onnx::NodeProto& node, std::string_view name) {
  return is_own_domain(node.domain()) && node.op_type() == name;
}

Result<OnnxGraph> make_onnx_graph(const onnx::ModelProto& model, const std::vector<std::string>& wanted) {
  if (!model.has_graph() || model.graph().node_size() == 0) return corrupt("not an ONNX model: it has no graph");
  const onnx::GraphProto& proto = model.graph();
  OnnxGraph graph;
  const Result<std::int64_t> opset = opset_of(model);
  if (!opset) return opset.error();
  graph.opset = *opset;
  if (const Result<void> found = find_initializers(proto, graph); !found) return found.error();
  const Result<Names> inputs = find_inputs(proto, graph);
  if (!inputs) return inputs.error();
  Result<std::vector<std::string>> outputs = find_outputs(proto, wanted);
  if (!outputs) return outputs.error();
  graph.outputs = *std::move(outputs);
  const Result<Producers> producers = find_producers(proto, *inputs, graph);
  if (!producers) return producers.error();
  Names read;
  const Result<std::set<int>> needed = needed_nodes(proto, graph, *producers, *inputs, read);
  if (!needed) return needed.error();
  drop_unread_inputs(read, graph);
  split_input(*inputs, *producers, graph);
  join_outputs(*inputs, *producers, graph);
  graph.names = all_names(*inputs, *producers, graph);
  const Result<std::vector<int>> order = topological_order(proto, *needed, *producers);
  if (!order) return order.error();
  if (graph.split) graph.nodes.push_back(graph.split.get());
  for (const int i : *order) {
    if (!note_constant(proto.node(i), graph)) graph.nodes.push_back(&proto.node(i));
  }
  if (graph.join) graph.nodes.push_back(graph.join.get());
  graph.channels_last = has_channels_last(graph);
  return graph;
}

}  // namespace znni
