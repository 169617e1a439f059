#include "proto/convert/onnx/graph/onnx_written_lengths.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "proto/convert/onnx/graph/onnx_attributes.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"

namespace znni {
namespace {

bool reads(const onnx::NodeProto& node, const std::string& tensor) {
  return std::find(node.input().begin(), node.input().end(), tensor) != node.input().end();
}

}  // namespace

OnnxWrittenLengths::OnnxWrittenLengths(const OnnxGraph& graph) : graph_(graph) {
  for (const onnx::NodeProto* node : graph.nodes) {
    for (const std::string& tensor : tensors_read_by(*node)) {
      readers_[tensor].push_back(reads(*node, tensor) ? node : nullptr);
    }
  }
  for (const std::string& output : graph.outputs) readers_[output].push_back(nullptr);
  for (const onnx::NodeProto* node : graph.nodes) {
    if (is_operator(*node, "ReduceL2") && node->input_size() > 0 && node->output_size() == 1) find(*node);
  }
}

const OnnxWrittenLength* OnnxWrittenLengths::of(const onnx::NodeProto& node) const {
  const auto found = parts_.find(&node);
  return found == parts_.end() ? nullptr : &lengths_[found->second];
}

// Returns the nodes that read the node's only output, each as often as it does.
OnnxWrittenLengths::Nodes OnnxWrittenLengths::readers(const onnx::NodeProto& node) const {
  const auto found = readers_.find(node.output(0));
  return found == readers_.end() || node.output_size() != 1 ? Nodes() : found->second;
}

// Returns the only reader if it is this operator; else nullptr.
const onnx::NodeProto* OnnxWrittenLengths::only_reader(const onnx::NodeProto& node, std::string_view name) const {
  const Nodes all = readers(node);
  const bool suits = all.size() == 1 && all.front() != nullptr && is_operator(*all.front(), name);
  return suits ? all.front() : nullptr;
}

// Returns the number of a constant that holds one.
std::optional<float> OnnxWrittenLengths::number(const std::string& tensor) const {
  const auto found = graph_.constants.find(tensor);
  if (found == graph_.constants.end()) return std::nullopt;
  const Result<std::int64_t> count = count_of(*found->second);
  if (!count || *count != 1 || found->second->dims_size() > 1) return std::nullopt;
  const Result<std::vector<float>> values = floats_of(*found->second);
  const bool is_sound = values && std::isfinite(values->front()) && values->front() > 0;
  return is_sound ? std::optional(values->front()) : std::nullopt;
}

// Returns the axes that a reduction goes over and keeps.
std::optional<std::vector<std::int64_t>> OnnxWrittenLengths::axes_of(const onnx::NodeProto& reduction) const {
  constexpr std::string_view known[] = {"axes", "keepdims", "noop_with_empty_axes"};
  constexpr std::int64_t most = 8;
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(reduction, known);
  if (!attributes) return std::nullopt;
  const Result<std::int64_t> keeps = attributes->integer("keepdims", 1);
  Result<std::vector<std::int64_t>> axes = attributes->integers("axes");
  if (reduction.input_size() > 1) {
    const auto found = graph_.constants.find(reduction.input(1));
    const Result<std::int64_t> count = found == graph_.constants.end() ? 0 : count_of(*found->second);
    if (!count || *count < 1 || *count > most) return std::nullopt;
    axes = integers_of(*found->second);
  }
  const bool is_sound = keeps && *keeps == 1 && axes && !axes->empty();
  return is_sound ? std::optional(*axes) : std::nullopt;
}

// Looks for the quotient of x by its length, which a Clip or Max keeps above epsilon and an Expand may repeat.
std::optional<OnnxWrittenLength> OnnxWrittenLengths::unit_of(const onnx::NodeProto& length, Nodes& nodes) const {
  OnnxWrittenLength found;
  found.x = length.input(0);
  nodes = {&length};
  for (const char* const name : {"Clip", "Max"}) {
    const onnx::NodeProto* least = only_reader(*nodes.back(), name);
    if (least == nullptr) continue;
    const bool is_least = least->input_size() == 2 || (least->input_size() == 3 && least->input(2).empty());
    const int own = least->input(0) == nodes.back()->output(0) ? 0 : 1;
    const std::optional<float> epsilon = is_least ? number(least->input(1 - own)) : std::nullopt;
    if (!epsilon || (own == 1 && name == std::string_view("Clip"))) return std::nullopt;
    found.epsilon = *epsilon;
    nodes.push_back(least);
    break;
  }
  if (const onnx::NodeProto* expand = only_reader(*nodes.back(), "Expand")) nodes.push_back(expand);
  const onnx::NodeProto* quotient = only_reader(*nodes.back(), "Div");
  if (quotient == nullptr || quotient->input(0) != found.x) return std::nullopt;
  nodes.push_back(quotient);
  return found;
}

// Looks for the product of x and its length over the mean of lengths. The length has two readers.
std::optional<OnnxWrittenLength> OnnxWrittenLengths::response_of(const onnx::NodeProto& length, Nodes& nodes) const {
  const Nodes both = readers(length);
  if (both.size() != 2 || both[0] == nullptr || both[1] == nullptr) return std::nullopt;
  const bool mean_first = is_operator(*both[0], "ReduceMean");
  const onnx::NodeProto& mean = *both[mean_first ? 0 : 1];
  const onnx::NodeProto& quotient = *both[mean_first ? 1 : 0];
  if (!is_operator(mean, "ReduceMean") || !is_operator(quotient, "Div")) return std::nullopt;
  const std::optional<std::vector<std::int64_t>> axes = axes_of(mean);
  const onnx::NodeProto* sum = only_reader(mean, "Add");
  if (!axes || axes->size() != 1 || sum == nullptr || sum->input_size() != 2) return std::nullopt;
  const std::optional<float> epsilon = number(sum->input(sum->input(0) == mean.output(0) ? 1 : 0));
  if (!epsilon || only_reader(*sum, "Div") != &quotient) return std::nullopt;
  const onnx::NodeProto* product = only_reader(quotient, "Mul");
  const bool divides = quotient.input(0) == length.output(0) && quotient.input(1) == sum->output(0);
  if (!divides || product == nullptr || !reads(*product, length.input(0))) return std::nullopt;
  nodes = {&length, &mean, sum, &quotient, product};
  return OnnxWrittenLength{WrittenLengthKind::response, length.input(0), {}, axes->front(), *epsilon, nullptr};
}

void OnnxWrittenLengths::find(const onnx::NodeProto& length) {
  const std::optional<std::vector<std::int64_t>> axes = axes_of(length);
  Nodes nodes;
  std::optional<OnnxWrittenLength> found = axes ? unit_of(length, nodes) : std::nullopt;
  if (axes && !found) found = response_of(length, nodes);
  if (!found) return;
  found->axes = *axes;
  found->last = nodes.back();
  for (const onnx::NodeProto* node : nodes) parts_.emplace(node, lengths_.size());
  lengths_.push_back(*std::move(found));
}

}  // namespace znni
