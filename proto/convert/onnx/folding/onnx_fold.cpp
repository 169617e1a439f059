#include "proto/convert/onnx/folding/onnx_fold.hpp"

#include <algorithm>
#include <array>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/folding/onnx_fold_arithmetic.hpp"
#include "proto/convert/onnx/folding/onnx_fold_layout.hpp"
#include "proto/convert/onnx/folding/onnx_fold_sequence.hpp"
#include "proto/convert/onnx/folding/onnx_fold_weights.hpp"
#include "proto/convert/onnx/graph/onnx_pads.hpp"
#include "proto/convert/onnx/operators/onnx_flatten.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

const FoldRow* row_of(const onnx::NodeProto& node) {
  for (const std::span<const FoldRow> rows : {layout_folds(), arithmetic_folds()}) {
    for (const FoldRow& row : rows) {
      if (is_operator(node, row.name)) return &row;
    }
  }
  return nullptr;
}

Result<void> check_inputs(const FoldRow& row, const onnx::NodeProto& node) {
  const int count = node.input_size();
  bool sound = count >= row.min_inputs && count <= row.max_inputs;
  for (int i = 0; i < row.min_inputs; ++i) sound = sound && OnnxBuilder::has_input(node, i);
  if (sound) return {};
  return corrupt("has " + std::to_string(count) + " inputs; " + std::to_string(row.min_inputs) +
                 (row.max_inputs == row.min_inputs ? "" : " or more") + " are right");
}

// Returns whether all inputs are constants or computed from them, or from the extents of guessed values.
bool is_of_known(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  int known = 0;
  for (int i = 0; i < node.input_size(); ++i) {
    if (!OnnxBuilder::has_input(node, i)) continue;
    if (!builder.is_known(node.input(i)) && !builder.is_guessed_number(node.input(i))) return false;
    ++known;
  }
  return known > 0;
}

// Notes numbers that follow from the extents of guessed values.
bool guess_numbers(const onnx::NodeProto& node, OnnxBuilder& builder) {
  builder.guess_numbers(node);
  return true;
}

Result<bool> fold_with(const FoldRow& row, const onnx::NodeProto& node, OnnxBuilder& builder) {
  if (builder.reads_guess(node)) return guess_numbers(node, builder);
  std::vector<std::optional<KnownTensor>> inputs(static_cast<std::size_t>(node.input_size()));
  for (int i = 0; i < node.input_size(); ++i) {
    if (!OnnxBuilder::has_input(node, i)) continue;
    std::optional<KnownTensor>& input = inputs[static_cast<std::size_t>(i)];
    input = builder.known_at(node, i);
    if (!input) return false;  // such as weights
    if (Result<void> few = builder.known().read(std::ssize(input->elements)); !few) return few.error();
  }
  if (Result<void> sound = check_inputs(row, node); !sound) return sound.error();
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, row.attributes);
  if (!attributes) return attributes.error();
  Result<KnownTensor> result = row.fold({node, *attributes, builder.opset(), std::move(inputs)});
  if (!result) return result.error();
  const Result<void> set = builder.known().set(node.output(0), *std::move(result));
  return set ? Result<bool>(true) : set.error();
}

// Notes the tensor of a Constant, one that make_onnx_graph() leaves: of integers, or within a branch.
Result<bool> fold_constant(const onnx::NodeProto& node, OnnxBuilder& builder) {
  if (node.attribute_size() != 1) return false;
  const onnx::AttributeProto& held = node.attribute(0);
  std::optional<KnownTensor> tensor;
  if (held.name() == "value" && held.type() == onnx::AttributeProto::TENSOR) tensor = known_tensor_of(held.t());
  if (held.name() == "value_int" && held.type() == onnx::AttributeProto::INT) tensor = known_integer(held.i());
  if (held.name() == "value_ints" && held.type() == onnx::AttributeProto::INTS) {
    const std::int64_t count = held.ints_size();
    if (const Result<std::int64_t> few = known_count({count}); !few) return few.error();
    tensor = KnownTensor{KnownKind::integer, {count}, {}};
    for (const std::int64_t value : held.ints()) tensor->elements.push_back({{value, {}}, 0});
  }
  if (!tensor) return false;
  const Result<void> set = builder.known().set(node.output(0), *std::move(tensor));
  return set ? Result<bool>(true) : set.error();
}

// Returns the extents of the tensor at input 0; nullopt if it is none whose extents are known.
Result<std::optional<std::vector<VolumeNumber>>> shape_of(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  std::vector<VolumeNumber> shape;
  if (const std::optional<KnownTensor> tensor = builder.known_at(node, 0); tensor) {
    for (const std::int64_t extent : tensor->dims) shape.push_back({extent, {}});
    return std::optional(shape);
  }
  if (const AxisLayout* laid = builder.tokens().laid(node.input(0))) {
    for (const std::int64_t extent : extents_of(*laid)) shape.push_back({extent, {}});
    return std::optional(shape);
  }
  const TurnedValue* const turned = builder.turned(node.input(0));
  const int value = builder.value_of(node.input(0));
  if (value < 0 && turned == nullptr) return std::optional<std::vector<VolumeNumber>>();
  if (const int axes = builder.pooled_axes(node.input(0)); axes > 0) {
    shape = {{builder.batch(), {}}, {builder.channels(value), {}}};
    shape.resize(static_cast<std::size_t>(axes), {1, {}});
    return std::optional(shape);
  }
  if (builder.flat(node.input(0)) != nullptr) {
    return std::optional(std::vector<VolumeNumber>{{builder.batch(), {}}, {row_length(builder, node.input(0)), {}}});
  }
  for (const auto& extent : turned != nullptr ? extents_of(builder, *turned) : extents_of(builder, value)) {
    if (!extent) {
      return unsupported("asks for the extent of " + in_quotes(node.input(0)) + " along axis " +
                         std::to_string(shape.size()) + ", which is not the same function of the volume's for all " +
                         "volumes");
    }
    shape.push_back(*extent);
  }
  return std::optional(shape);
}

Result<bool> fold_shape(const onnx::NodeProto& node, OnnxBuilder& builder) {
  constexpr std::array<std::string_view, 2> known = {"end", "start"};
  if (node.input_size() != 1 || node.output_size() != 1) return corrupt("has other inputs or outputs than one of each");
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, known);
  if (!attributes) return attributes.error();
  const TurnedValue* const turned = builder.turned(node.input(0));
  const int value = turned != nullptr ? turned->value : builder.value_of(node.input(0));
  if (value >= 0 && builder.is_guessed(value)) return guess_numbers(node, builder);
  const Result<std::optional<std::vector<VolumeNumber>>> shape = shape_of(node, builder);
  if (!shape) return shape.error();
  if (!*shape) return false;
  const auto axes = static_cast<std::int64_t>((*shape)->size());
  const Result<std::int64_t> start = attributes->integer("start", 0);
  if (!start) return start.error();
  const Result<std::int64_t> end = attributes->integer("end", axes);
  if (!end) return end.error();
  const auto place = [axes](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + axes : at, 0, axes); };
  KnownTensor tensor;
  for (std::int64_t i = place(*start); i < place(*end); ++i) {
    tensor.elements.push_back({(**shape)[static_cast<std::size_t>(i)], 0});
  }
  tensor.dims = {static_cast<std::int64_t>(tensor.elements.size())};
  const Result<void> set = builder.known().set(node.output(0), std::move(tensor));
  return set ? Result<bool>(true) : set.error();
}

bool reads_extents(const onnx::NodeProto& node) {
  if (is_operator(node, "Shape") || pads_by_extent(node)) return true;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    const auto& inner = attribute.g().node();
    const bool has_graph = attribute.type() == onnx::AttributeProto::GRAPH;
    if (has_graph && std::any_of(inner.begin(), inner.end(), [](const auto& each) { return reads_extents(each); })) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<std::vector<std::int64_t>> FoldNode::integers(std::size_t input, std::string_view name) const {
  return has(input) ? integers_of(*inputs[input]) : attributes.integers(name);
}

Result<bool> fold_node(const onnx::NodeProto& node, OnnxBuilder& builder) {
  if (node.output_size() != 1 || node.output(0).empty()) return false;
  if (is_operator(node, "Shape")) return fold_shape(node, builder);
  if (is_operator(node, "Constant")) return fold_constant(node, builder);
  const Result<bool> sequence = fold_sequence(node, builder);
  if (!sequence || *sequence) return sequence;
  const FoldRow* row = row_of(node);
  const Result<bool> folded =
      row != nullptr && is_of_known(node, builder) ? fold_with(*row, node, builder) : Result<bool>(false);
  return !folded || *folded ? folded : fold_weights(node, builder);
}

bool reads_extents(const OnnxGraph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto* node) { return reads_extents(*node); });
}

}  // namespace znni
