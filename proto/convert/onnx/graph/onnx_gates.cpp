#include "proto/convert/onnx/graph/onnx_gates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>

#include "proto/convert/onnx/graph/onnx_attributes.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"

namespace znni {
namespace {

// Returns whether a constant of a file, in single precision, is this number.
bool is_near(double found, double wanted) { return std::abs(found - wanted) <= 1e-6 * std::abs(wanted); }

bool is_hard_sigmoid_of_hard_swish(const onnx::NodeProto& node) {
  constexpr std::string_view known[] = {"alpha", "beta"};
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, known);
  if (!attributes) return false;
  const Result<float> alpha = attributes->real("alpha", 0.2F);
  const Result<float> beta = attributes->real("beta", 0.5F);
  return alpha && beta && is_near(*alpha, 1.0 / 6.0) && is_near(*beta, 0.5);
}

bool reads(const onnx::NodeProto& node, const std::string& tensor) {
  return std::find(node.input().begin(), node.input().end(), tensor) != node.input().end();
}

// Returns whether the node is a product of two.
bool is_product(const onnx::NodeProto* node) {
  return node != nullptr && is_operator(*node, "Mul") && node->input_size() == 2;
}

}  // namespace

OnnxGates::OnnxGates(const OnnxGraph& graph) : graph_(graph), links_(graph) {
  for (const onnx::NodeProto* node : graph.nodes) {
    for (const std::string& tensor : tensors_read_by(*node)) ++reads_[tensor];
  }
  for (const std::string& output : graph.outputs) ++reads_[output];
  for (const onnx::NodeProto* node : graph.nodes) {
    if (is_operator(*node, "Erf") && node->input_size() == 1) find_gelu(*node);
    if (is_product(node)) find_product(*node);
  }
}

const OnnxGate* OnnxGates::of(const onnx::NodeProto& node) const {
  const auto found = parts_.find(&node);
  return found == parts_.end() ? nullptr : &gates_[found->second];
}

void OnnxGates::add(ActivationKind kind, const std::string& x, const Nodes& nodes) {
  for (const onnx::NodeProto* node : nodes) parts_.emplace(node, gates_.size());
  gates_.push_back({{kind, 0.0F}, x, nodes.back()});
}

// Returns the number that a constant holds; NaN if the tensor is no constant of one number.
double OnnxGates::number(const std::string& tensor) const {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const auto found = graph_.constants.find(tensor);
  if (found == graph_.constants.end()) return none;
  const Result<std::int64_t> count = count_of(*found->second);
  if (!count || *count != 1) return none;
  const Result<std::vector<float>> values = floats_of(*found->second);
  return values ? static_cast<double>(values->front()) : none;
}

// Returns what a product with a constant or a quotient by one multiplies; no tensor if the node is neither.
OnnxGates::Scaled OnnxGates::scaled_by(const onnx::NodeProto* node) const {
  if (node == nullptr || node->input_size() != 2) return {};
  const double first = number(node->input(0));
  const double second = number(node->input(1));
  if (is_operator(*node, "Div")) return std::isnan(second) ? Scaled{} : Scaled{node->input(0), 1.0 / second};
  if (!is_operator(*node, "Mul") || std::isnan(first) == std::isnan(second)) return {};
  return std::isnan(first) ? Scaled{node->input(0), second} : Scaled{node->input(1), first};
}

bool OnnxGates::is_factor(const onnx::NodeProto* node, const std::string& of, double factor) const {
  const Scaled scaled = scaled_by(node);
  return !scaled.tensor.empty() && scaled.tensor == of && is_near(scaled.factor, factor);
}

bool OnnxGates::adds_one(const onnx::NodeProto& node) const {
  if (!is_operator(node, "Add") || node.input_size() != 2) return false;
  return is_near(number(node.input(0)), 1.0) != is_near(number(node.input(1)), 1.0);
}

// Returns the node that reads the node's only output, once, if nothing else does; else nullptr.
const onnx::NodeProto* OnnxGates::only_reader(const onnx::NodeProto& node) const {
  if (node.output_size() != 1) return nullptr;
  const auto found = reads_.find(node.output(0));
  return found == reads_.end() || found->second != 1 ? nullptr : links_.only_reader(node);
}

// Returns the nodes that compute x / 2 times the sum; none if it goes another way. The half is a factor of the sum, of
// the product or of x.
OnnxGates::Nodes OnnxGates::product_of(const onnx::NodeProto& sum, const std::string& x) const {
  const onnx::NodeProto* first = only_reader(sum);
  if (first == nullptr) return {};
  const onnx::NodeProto* second = only_reader(*first);
  if (is_factor(first, sum.output(0), 0.5)) {
    return is_product(second) && reads(*second, x) ? Nodes{first, second} : Nodes();
  }
  if (!is_product(first)) return {};
  if (reads(*first, x)) return is_factor(second, first->output(0), 0.5) ? Nodes{first, second} : Nodes();
  const onnx::NodeProto* half = links_.writer(*first, first->input(0) == sum.output(0) ? 1 : 0);
  return is_factor(half, x, 0.5) && only_reader(*half) == first ? Nodes{half, first} : Nodes();
}

void OnnxGates::find_gelu(const onnx::NodeProto& erf) {
  const onnx::NodeProto* scaled = links_.writer(erf, 0);
  const Scaled argument = scaled_by(scaled);
  if (argument.tensor.empty() || !is_near(argument.factor, 1.0 / std::numbers::sqrt2)) return;
  const onnx::NodeProto* sum = only_reader(erf);
  if (only_reader(*scaled) != &erf || sum == nullptr || !adds_one(*sum)) return;
  Nodes nodes = product_of(*sum, argument.tensor);
  if (nodes.empty()) return;
  nodes.insert(nodes.begin(), {scaled, &erf, sum});
  add(ActivationKind::gelu, argument.tensor, nodes);
}

// Returns the nodes that compute what x is multiplied by, and the activation; no nodes if it is none.
OnnxGates::Nodes OnnxGates::factor_of(const onnx::NodeProto* factor, const std::string& x, ActivationKind& kind) const {
  if (factor == nullptr || factor->input_size() != 1) return {};
  const bool is_hard = is_operator(*factor, "HardSigmoid") && is_hard_sigmoid_of_hard_swish(*factor);
  if (is_hard || is_operator(*factor, "Sigmoid")) {
    kind = is_hard ? ActivationKind::hard_swish : ActivationKind::silu;
    return factor->input(0) == x ? Nodes{factor} : Nodes();
  }
  const onnx::NodeProto* inner = is_operator(*factor, "Tanh") ? links_.writer(*factor, 0) : nullptr;
  if (inner == nullptr || !is_operator(*inner, "Softplus") || inner->input_size() != 1) return {};
  kind = ActivationKind::mish;
  return inner->input(0) == x && only_reader(*inner) == factor ? Nodes{inner, factor} : Nodes();
}

void OnnxGates::find_product(const onnx::NodeProto& product) {
  for (const int index : {0, 1}) {
    const std::string& x = product.input(1 - index);
    const onnx::NodeProto* factor = links_.writer(product, index);
    ActivationKind kind = ActivationKind::none;
    Nodes nodes = factor_of(factor, x, kind);
    if (nodes.empty() || only_reader(*factor) != &product) continue;
    nodes.push_back(&product);
    return add(kind, x, nodes);
  }
}

}  // namespace znni
