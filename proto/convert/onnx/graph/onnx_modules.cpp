#include "proto/convert/onnx/graph/onnx_modules.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace znni {
namespace {

using Nodes = std::vector<const onnx::NodeProto*>;

bool is_one_of(const onnx::NodeProto& node, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return is_operator(node, name); });
}

// Returns the node if it is there and has this operator; else nullptr.
const onnx::NodeProto* if_operator(const onnx::NodeProto* node, std::string_view name) {
  return node != nullptr && is_operator(*node, name) ? node : nullptr;
}

// Returns the scaling or shift by a constant that alone reads the last node; nullptr if there is none.
const onnx::NodeProto* next_with_constant(const Nodes& nodes, std::string_view name, const OnnxLinks& links) {
  const onnx::NodeProto* next = if_operator(links.only_reader(*nodes.back()), name);
  return next != nullptr && links.reads_constant(*next) ? next : nullptr;
}

// Returns the nodes from x to `gate` if they are the factor that x is multiplied by in an activation; else none.
Nodes activation_of(const std::string& x, const onnx::NodeProto* gate, const OnnxLinks& links) {
  if (gate == nullptr || gate->input_size() == 0) return {};
  if (is_operator(*gate, "Sigmoid") || is_operator(*gate, "HardSigmoid")) {
    return gate->input(0) == x ? Nodes{gate} : Nodes();
  }
  const onnx::NodeProto* inner = if_operator(links.writer(*gate, 0), "Softplus");
  const bool is_mish = is_operator(*gate, "Tanh") && inner != nullptr && inner->input_size() > 0;
  return is_mish && inner->input(0) == x ? Nodes{inner, gate} : Nodes();
}

std::string_view name_of_gate(const Nodes& nodes) {
  if (nodes.size() == 2) return "Mish";
  return is_operator(*nodes.front(), "Sigmoid") ? "Swish" : "HardSwish";
}

// Returns the node that computes the first of two inputs that is no constant.
const onnx::NodeProto* first_writer(const onnx::NodeProto& node, const OnnxLinks& links) {
  for (int i = 0; i < 2; ++i) {
    if (const onnx::NodeProto* writer = links.writer(node, i)) return writer;
  }
  return nullptr;
}

// Returns the nodes from the mean of x over all voxels to `gate`; none if they are something else.
Nodes excitation_of(const std::string& x, const onnx::NodeProto* gate, const OnnxLinks& links) {
  constexpr std::size_t most = 16;
  constexpr std::array<std::string_view, 3> means = {"GlobalAveragePool", "ReduceMean", "GlobalMaxPool"};
  constexpr std::array<std::string_view, 15> between = {"Add",  "Clip",        "Conv",    "Expand",    "Flatten",
                                                        "Gemm", "HardSigmoid", "MatMul",  "PRelu",     "Reshape",
                                                        "Relu", "Sigmoid",     "Squeeze", "Transpose", "Unsqueeze"};
  Nodes nodes;
  for (const onnx::NodeProto* node = gate; node != nullptr && nodes.size() < most; node = first_writer(*node, links)) {
    nodes.push_back(node);
    if (is_one_of(*node, means)) {
      return node->input_size() > 0 && node->input(0) == x ? Nodes(nodes.rbegin(), nodes.rend()) : Nodes();
    }
    if (!is_one_of(*node, between)) return {};
  }
  return {};
}

}  // namespace

OnnxModules::OnnxModules(const OnnxGraph& graph) {
  const OnnxLinks links(graph);
  for (const onnx::NodeProto* node : graph.nodes) {
    if (is_operator(*node, "BatchNormalization")) find_instance_norm(*node, links);
    if (is_operator(*node, "Erf")) find_gelu(*node, links);
    if (is_operator(*node, "Transpose")) find_shuffle(*node, links);
    if (is_operator(*node, "Mul") && node->input_size() == 2 && !links.reads_constant(*node)) find_gate(*node, links);
  }
}

const OnnxModule* OnnxModules::of(const onnx::NodeProto& node) const {
  const auto found = parts_.find(&node);
  return found == parts_.end() ? nullptr : &modules_[found->second];
}

void OnnxModules::add(const OnnxWords& words, const Nodes& nodes, const std::string& input) {
  for (const onnx::NodeProto* node : nodes) parts_.emplace(node, modules_.size());
  modules_.push_back({words, nodes.front(), input});
}

// All channels of the batch are made those of one item, whose statistics a batch normalisation takes, and back.
void OnnxModules::find_instance_norm(const onnx::NodeProto& node, const OnnxLinks& links) {
  const bool trains = std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& attribute) {
    return attribute.name() == "training_mode" && attribute.i() == 1;
  });
  const onnx::NodeProto* before = if_operator(links.writer(node, 0), "Reshape");
  const onnx::NodeProto* after = if_operator(links.only_reader(node), "Reshape");
  if (!trains || before == nullptr || after == nullptr || before->input_size() == 0) return;
  add(words_of_traced_norm(), {before, &node, after}, before->input(0));
}

// x / sqrt(2), Erf, + 1, and the product with x.
void OnnxModules::find_gelu(const onnx::NodeProto& node, const OnnxLinks& links) {
  const onnx::NodeProto* scaled = links.writer(node, 0);
  const bool is_scaled =
      scaled != nullptr && (is_operator(*scaled, "Div") || is_operator(*scaled, "Mul")) && scaled->input_size() > 0;
  const onnx::NodeProto* plus = next_with_constant({&node}, "Add", links);
  if (!is_scaled || plus == nullptr) return;
  const onnx::NodeProto* product = if_operator(links.only_reader(*plus), "Mul");
  if (product == nullptr) return;
  add(words_of_operator("Gelu"), {scaled, &node, plus, product}, scaled->input(0));
}

// Axes are split, the parts transposed, and joined in another way.
void OnnxModules::find_shuffle(const onnx::NodeProto& node, const OnnxLinks& links) {
  const onnx::NodeProto* before = if_operator(links.writer(node, 0), "Reshape");
  const onnx::NodeProto* after = if_operator(links.only_reader(node), "Reshape");
  if (before != nullptr && after != nullptr) add(words_of_shuffle(), {before, &node, after}, "");
}

// The product of x and what is computed of x alone.
void OnnxModules::find_gate(const onnx::NodeProto& node, const OnnxLinks& links) {
  if (parts_.contains(&node)) return;
  for (const int gate : {0, 1}) {
    const std::string& x = node.input(1 - gate);
    Nodes nodes = activation_of(x, links.writer(node, gate), links);
    OnnxWords words = nodes.empty() ? words_of_excitation() : words_of_operator(name_of_gate(nodes));
    if (nodes.empty()) nodes = excitation_of(x, links.writer(node, gate), links);
    if (nodes.empty()) continue;
    nodes.push_back(&node);
    add(words, nodes, x);
    return;
  }
}

}  // namespace znni
