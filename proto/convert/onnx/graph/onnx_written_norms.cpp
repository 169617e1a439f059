#include "proto/convert/onnx/graph/onnx_written_norms.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "proto/convert/onnx/graph/onnx_attributes.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"

namespace znni {
namespace {

const onnx::NodeProto* if_operator(const onnx::NodeProto* node, std::string_view name, int inputs) {
  const bool suits = node != nullptr && is_operator(*node, name) && node->input_size() == inputs;
  return suits && node->output_size() == 1 ? node : nullptr;
}

// Returns the constant; nullptr if the tensor is none.
const onnx::TensorProto* constant_of(const OnnxGraph& graph, const std::string& tensor) {
  const auto found = graph.constants.find(tensor);
  return found == graph.constants.end() ? nullptr : found->second;
}

// Returns whether the constant holds one number, and no axis beside that. One of more axes would add them to what it
// is computed with. Nothing is copied, because a file may name a large constant often.
bool is_one_number(const onnx::TensorProto* constant) {
  const Result<std::int64_t> count = constant == nullptr ? 0 : count_of(*constant);
  return count && *count == 1 && constant->dims_size() <= 1;
}

// Returns the one number of a constant.
std::optional<float> number_of(const OnnxGraph& graph, const std::string& tensor) {
  const onnx::TensorProto* constant = constant_of(graph, tensor);
  if (!is_one_number(constant)) return std::nullopt;
  const Result<std::vector<float>> values = floats_of(*constant);
  return values ? std::optional(values->front()) : std::nullopt;
}

// Returns the one axis that a ReduceMean goes over and keeps.
std::optional<std::int64_t> axis_of(const OnnxGraph& graph, const onnx::NodeProto& mean) {
  constexpr std::string_view known[] = {"axes", "keepdims", "noop_with_empty_axes"};
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(mean, known);
  if (!attributes) return std::nullopt;
  Result<std::vector<std::int64_t>> axes = attributes->integers("axes");
  const onnx::TensorProto* tensor = mean.input_size() > 1 ? constant_of(graph, mean.input(1)) : nullptr;
  if (tensor != nullptr && !is_one_number(tensor)) return std::nullopt;
  if (tensor != nullptr) axes = integers_of(*tensor);
  const Result<std::int64_t> keeps = attributes->integer("keepdims", 1);
  const bool is_one = axes && axes->size() == 1 && keeps && *keeps == 1;
  return is_one ? std::optional(axes->front()) : std::nullopt;
}

bool is_mean(const onnx::NodeProto* node) {
  return node != nullptr && is_operator(*node, "ReduceMean") && node->input_size() > 0 && node->output_size() == 1;
}

// Returns whether the node is the square of what it reads.
bool is_square(const OnnxGraph& graph, const onnx::NodeProto& node) {
  if (node.input_size() != 2 || node.output_size() != 1) return false;
  if (is_operator(node, "Mul")) return node.input(0) == node.input(1);
  return is_operator(node, "Pow") && number_of(graph, node.input(1)) == 2.0F;
}

// Returns whether both compute the same difference.
bool are_equal_differences(const onnx::NodeProto& a, const onnx::NodeProto* b) {
  return &a == b || (b != nullptr && a.input(0) == b->input(0) && a.input(1) == b->input(1));
}

}  // namespace

OnnxWrittenNorms::OnnxWrittenNorms(const OnnxGraph& graph) : graph_(graph), links_(graph) {
  for (const onnx::NodeProto* node : graph.nodes) {
    for (const std::string& tensor : tensors_read_by(*node)) ++reads_[tensor];
  }
  for (const std::string& output : graph.outputs) ++reads_[output];
  for (const onnx::NodeProto* node : graph.nodes) {
    if (if_operator(node, "Sqrt", 1) != nullptr) find(*node);
  }
}

const OnnxWrittenNorm* OnnxWrittenNorms::of(const onnx::NodeProto& node) const {
  const auto found = parts_.find(&node);
  return found == parts_.end() ? nullptr : &norms_[found->second];
}

// Returns whether what the nodes but for the last write is read by them alone.
bool OnnxWrittenNorms::are_alone(const Nodes& nodes) const {
  std::unordered_map<std::string, int> own;
  for (const onnx::NodeProto* node : nodes) {
    for (const std::string& input : node->input()) ++own[input];
  }
  return std::all_of(nodes.begin(), nodes.end() - 1, [&](const onnx::NodeProto* node) {
    const auto all = reads_.find(node->output(0));
    return all != reads_.end() && all->second == own[node->output(0)];
  });
}

// Returns the sum of a variance and a number, if that is what the root is of.
std::optional<OnnxWrittenNorms::Sum> OnnxWrittenNorms::sum_below(const onnx::NodeProto& root) const {
  const onnx::NodeProto* node = if_operator(links_.writer(root, 0), "Add", 2);
  if (node == nullptr) return std::nullopt;
  const int variance = number_of(graph_, node->input(1)) ? 0 : 1;
  const std::optional<float> epsilon = number_of(graph_, node->input(1 - variance));
  if (!epsilon || !std::isfinite(*epsilon) || *epsilon <= 0) return std::nullopt;
  return Sum{node, links_.writer(*node, variance), *epsilon};
}

// Returns the nodes from the mean of x to that of the squares of its differences from it; none if it is no variance.
OnnxWrittenNorms::Nodes OnnxWrittenNorms::variance_of(const onnx::NodeProto* spread) const {
  const onnx::NodeProto* square = is_mean(spread) ? links_.writer(*spread, 0) : nullptr;
  if (square == nullptr || !is_square(graph_, *square)) return {};
  const onnx::NodeProto* off = if_operator(links_.writer(*square, 0), "Sub", 2);
  const onnx::NodeProto* mean = off == nullptr ? nullptr : links_.writer(*off, 1);
  if (!is_mean(mean) || mean->input(0) != off->input(0)) return {};
  const std::optional<std::int64_t> axis = axis_of(graph_, *mean);
  return axis && axis_of(graph_, *spread) == axis ? Nodes{mean, off, square, spread} : Nodes();
}

// Returns the nodes that divide the difference by the root; none if nothing does.
OnnxWrittenNorms::Nodes OnnxWrittenNorms::quotient_by(const onnx::NodeProto& root, const onnx::NodeProto& off) const {
  const onnx::NodeProto* inverse = if_operator(links_.only_reader(root), "Reciprocal", 1);
  const onnx::NodeProto& divisor = inverse == nullptr ? root : *inverse;
  const onnx::NodeProto* last = if_operator(links_.only_reader(divisor), inverse == nullptr ? "Div" : "Mul", 2);
  if (last == nullptr) return {};
  const int difference = inverse != nullptr && last->input(0) == divisor.output(0) ? 1 : 0;
  const onnx::NodeProto* again = if_operator(links_.writer(*last, difference), "Sub", 2);
  if (last->input(1 - difference) != divisor.output(0) || !are_equal_differences(off, again)) return {};
  Nodes nodes;
  if (inverse != nullptr) nodes.push_back(inverse);
  if (again != &off) nodes.push_back(again);
  nodes.push_back(last);
  return nodes;
}

// Looks from the root back to x, and on to the quotient.
void OnnxWrittenNorms::find(const onnx::NodeProto& root) {
  const std::optional<Sum> sum = sum_below(root);
  Nodes nodes = sum ? variance_of(sum->variance) : Nodes();
  if (nodes.empty()) return;
  const onnx::NodeProto& mean = *nodes.front();
  const Nodes quotient = quotient_by(root, *nodes[1]);
  if (quotient.empty()) return;
  nodes.insert(nodes.end(), {sum->node, &root});
  nodes.insert(nodes.end(), quotient.begin(), quotient.end());
  if (!are_alone(nodes)) return;
  for (const onnx::NodeProto* node : nodes) parts_.emplace(node, norms_.size());
  norms_.push_back({mean.input(0), axis_of(graph_, mean).value(), sum->epsilon, nodes.back()});
}

}  // namespace znni
