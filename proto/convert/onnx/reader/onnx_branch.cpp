#include "proto/convert/onnx/reader/onnx_branch.hpp"

#include <algorithm>
#include <set>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/folding/onnx_fold.hpp"
#include "proto/convert/onnx/reader/onnx_operators.hpp"

namespace znni {
namespace {

constexpr std::int64_t max_turns = 64;

Result<const onnx::GraphProto*> graph_of(const OnnxNode& node, std::string_view name) {
  const onnx::AttributeProto* attribute = node.attributes.find(name);
  if (attribute != nullptr && attribute->type() == onnx::AttributeProto::GRAPH) return &attribute->g();
  return corrupt("attribute " + in_quotes(name) + " is missing, or no graph");
}

// Returns the truth of input `index`, the same for all volumes; `otherwise` without such an input.
Result<bool> truth_of(const onnx::NodeProto& node, const OnnxBuilder& builder, int index, bool otherwise) {
  if (!OnnxBuilder::has_input(node, index)) return otherwise;
  const std::optional<KnownTensor> tensor = builder.known_at(node, index);
  if (!tensor) {
    return unsupported("its condition " + in_quotes(node.input(index)) + " is computed from voxels; only constants " +
                       "and comparisons of extents are supported");
  }
  if (tensor->kind != KnownKind::boolean || tensor->elements.empty()) return corrupt("its condition is no boolean");
  const bool first = tensor->elements.front().whole.least != 0;
  const bool same = std::all_of(tensor->elements.begin(), tensor->elements.end(),
                                [&](const KnownElement& element) { return (element.whole.least != 0) == first; });
  if (same) return first;
  return unsupported("its condition has " + std::to_string(tensor->elements.size()) +
                     " elements, some true and some false");
}

// Notes the initializers of an inner graph.
Result<void> note_initializers(const onnx::GraphProto& graph, OnnxBuilder& builder) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (builder.is_written(tensor.name())) {
      return corrupt("initializer " + in_quotes(tensor.name()) + " of an inner graph has the name of another tensor");
    }
    std::optional<KnownTensor> known = known_tensor_of(tensor);
    if (!known) return unsupported("initializer " + in_quotes(tensor.name()) + " is too large for an inner graph here");
    if (Result<void> set = builder.known().set(tensor.name(), *std::move(known)); !set) return set;
  }
  return {};
}

// Returns the nodes that the graph's outputs need, in the file's order, which is topological.
std::vector<const onnx::NodeProto*> needed_nodes(const onnx::GraphProto& graph) {
  std::set<std::string> wanted;
  for (const onnx::ValueInfoProto& output : graph.output()) wanted.insert(output.name());
  std::vector<const onnx::NodeProto*> nodes;
  for (int i = graph.node_size(); i-- > 0;) {
    const onnx::NodeProto& node = graph.node(i);
    const bool needed = std::any_of(node.output().begin(), node.output().end(),
                                    [&](const std::string& output) { return wanted.contains(output); });
    if (!needed) continue;
    nodes.push_back(&node);
    for (const std::string& tensor : tensors_read_by(node)) wanted.insert(tensor);
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

Result<void> convert_inner(const onnx::NodeProto& node, OnnxBuilder& builder) {
  for (const std::string& output : node.output()) {
    if (!builder.is_written(output)) continue;
    return corrupt("tensor " + in_quotes(output) + " is written twice").within(called(node));
  }
  const Result<void> converted = convert_node(node, builder);
  return converted ? converted : converted.error().within(called(node));
}

// Returns the names of all that a turn of a loop writes.
std::vector<std::string> names_of_turn(const onnx::GraphProto& body) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : body.input()) names.push_back(input.name());
  for (const onnx::TensorProto& tensor : body.initializer()) names.push_back(tensor.name());
  for (const onnx::NodeProto& node : body.node()) names.insert(names.end(), node.output().begin(), node.output().end());
  return names;
}

// A tensor or a sequence that a loop hands from turn to turn.
struct Carried {
  std::optional<KnownTensor> tensor;
  std::vector<KnownTensor> sequence;
};

Result<Carried> carried_of(const std::string& name, const OnnxBuilder& builder) {
  if (const std::vector<KnownTensor>* sequence = builder.known().sequence(name); sequence != nullptr) {
    return Carried{std::nullopt, *sequence};
  }
  onnx::NodeProto reader;
  reader.add_input(name);
  std::optional<KnownTensor> tensor = builder.known_at(reader, 0);
  if (tensor) return Carried{std::move(tensor), {}};
  return unsupported("tensor " + in_quotes(name) + " in the loop is computed from voxels, which is not supported");
}

Result<void> set_carried(const std::string& name, const Carried& carried, OnnxBuilder& builder) {
  return carried.tensor ? builder.known().set(name, *carried.tensor)
                        : builder.known().set_sequence(name, carried.sequence);
}

// Runs one turn. `carried` is what its graph reads and writes, beside the turn's number and the condition. Returns
// whether another turn follows.
Result<bool> run_turn(const onnx::GraphProto& body, std::int64_t turn, std::vector<Carried>& carried,
                      OnnxBuilder& builder) {
  KnownTensor yes{KnownKind::boolean, {}, {{{1, {}}, 0}}};
  if (Result<void> set = builder.known().set(body.input(0).name(), known_integer(turn)); !set) return set.error();
  if (Result<void> set = builder.known().set(body.input(1).name(), std::move(yes)); !set) return set.error();
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const std::string& name = body.input(static_cast<int>(i) + 2).name();
    if (Result<void> set = set_carried(name, carried[i], builder); !set) return set.error();
  }
  if (Result<void> noted = note_initializers(body, builder); !noted) return noted.error();
  for (const onnx::NodeProto* node : needed_nodes(body)) {
    const Result<bool> folded = fold_node(*node, builder);
    if (!folded) return folded.error().within(called(*node));
    if (!*folded)
      return unsupported("is not supported in a loop, only numbers known for all volumes").within(called(*node));
  }
  for (std::size_t i = 0; i < carried.size(); ++i) {
    Result<Carried> next = carried_of(body.output(static_cast<int>(i) + 1).name(), builder);
    if (!next) return next.error();
    carried[i] = *std::move(next);
  }
  onnx::NodeProto reader;
  reader.add_input(body.output(0).name());
  return truth_of(reader, builder, 0, true);
}

Result<std::int64_t> turns_of(const OnnxNode& node, const OnnxBuilder& builder) {
  const std::optional<KnownTensor> tensor = builder.known_at(node.proto, 0);
  if (!tensor) return unsupported("its number of turns is not known");
  const Result<std::vector<std::int64_t>> turns = integers_of(*tensor);
  if (!turns) return turns.error();
  if (turns->size() == 1 && turns->front() <= max_turns) return turns->front();
  return unsupported("has more than " + std::to_string(max_turns) + " turns, or no single number of them");
}

}  // namespace

Result<void> convert_if(const OnnxNode& node, OnnxBuilder& builder) {
  if (builder.guess_reader(node.proto)) return {};
  const Result<bool> taken = truth_of(node.proto, builder, 0, false);
  if (!taken) return taken.error();
  const Result<const onnx::GraphProto*> branch = graph_of(node, *taken ? "then_branch" : "else_branch");
  if (!branch) return branch.error();
  const onnx::GraphProto& graph = **branch;
  if (graph.output_size() != node.proto.output_size()) {
    return corrupt("has " + std::to_string(node.proto.output_size()) + " outputs; its branch has " +
                   std::to_string(graph.output_size()));
  }
  if (Result<void> noted = note_initializers(graph, builder); !noted) return noted;
  for (const onnx::NodeProto* inner : needed_nodes(graph)) {
    if (Result<void> converted = convert_inner(*inner, builder); !converted) return converted;
  }
  for (int i = 0; i < graph.output_size(); ++i) {
    if (node.proto.output(i).empty()) continue;
    if (Result<void> passed = builder.pass_on(graph.output(i).name(), node.proto.output(i)); !passed) return passed;
  }
  return {};
}

Result<void> convert_loop(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<const onnx::GraphProto*> body = graph_of(node, "body");
  if (!body) return body.error();
  const int count = node.proto.input_size() - 2;
  const bool fits = (*body)->input_size() == count + 2 && (*body)->output_size() == count + 1;
  if (!fits || node.proto.output_size() != count) {
    return unsupported("has other inputs and outputs than those it hands from turn to turn");
  }
  if (builder.guess_reader(node.proto)) return {};
  const Result<std::int64_t> turns = turns_of(node, builder);
  if (!turns) return turns.error();
  Result<bool> goes_on = truth_of(node.proto, builder, 1, true);
  std::vector<Carried> carried;
  for (int i = 0; i < count; ++i) {
    Result<Carried> first = carried_of(node.proto.input(i + 2), builder);
    if (!first) return first.error();
    carried.push_back(*std::move(first));
  }
  for (const std::string& name : names_of_turn(**body)) {
    if (builder.is_written(name)) return corrupt("tensor " + in_quotes(name) + " is written twice");
  }
  for (std::int64_t turn = 0; goes_on && *goes_on && turn < *turns; ++turn) {
    goes_on = run_turn(**body, turn, carried, builder);
    for (const std::string& name : names_of_turn(**body)) builder.known().forget(name);
  }
  if (!goes_on) return goes_on.error();
  for (int i = 0; i < count; ++i) {
    const std::string& output = node.proto.output(i);
    if (output.empty()) continue;
    if (Result<void> set = set_carried(output, carried[static_cast<std::size_t>(i)], builder); !set) return set;
  }
  return {};
}

}  // namespace znni
