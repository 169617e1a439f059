#include "proto/convert/onnx/tokens/onnx_tokens.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/operators/onnx_pooled.hpp"
#include "proto/convert/onnx/tokens/onnx_attention.hpp"
#include "proto/convert/onnx/tokens/onnx_laid.hpp"
#include "proto/convert/onnx/tokens/onnx_laid_axes.hpp"
#include "proto/convert/onnx/tokens/onnx_laid_layers.hpp"

namespace znni {
namespace {

using Names = std::string_view;

// Tensors of two axes are those of patch classifiers.
constexpr std::size_t min_axes = 3;

constexpr std::array<Names, 1> allowzero = {"allowzero"};
constexpr std::array<Names, 1> axes_alone = {"axes"};
constexpr std::array<Names, 1> axis_alone = {"axis"};
constexpr std::array<Names, 1> equation = {"equation"};
constexpr std::array<Names, 4> gemm = {"alpha", "beta", "transA", "transB"};
constexpr std::array<Names, 3> layer_normalization = {"axis", "epsilon", "stash_type"};
constexpr std::array<Names, 1> perm = {"perm"};
constexpr std::array<Names, 3> slice = {"axes", "ends", "starts"};
constexpr std::array<Names, 3> split = {"axis", "num_outputs", "split"};
constexpr std::array<Names, 5> of_two = {"Add", "Div", "Mul", "Sub", "Max"};

Result<void> mat_mul(const OnnxNode& node, OnnxBuilder& builder) {
  return is_product_of_tensors(node.proto, builder) ? multiply_tokens(node, builder)
                                                    : convert_linear_of_tokens(node, builder);
}

constexpr std::array<OnnxOperator, 12> layouts = {{
    {"Einsum", 2, 2, equation, convert_einsum},
    {"Gather", 2, 2, axis_alone, gather_laid},
    {"Gemm", 2, 3, gemm, convert_gemm_of_tokens},
    {"Identity", 1, 1, {}, pass_laid_on},
    {"LayerNormalization", 2, 3, layer_normalization, normalise_tokens},
    {"MatMul", 2, 2, {}, mat_mul},
    {"Reshape", 2, 2, allowzero, reshape_laid},
    {"Slice", 3, 5, slice, slice_laid},
    {"Split", 1, 2, split, split_laid},
    {"Squeeze", 1, 2, axes_alone, squeeze_laid},
    {"Transpose", 1, 1, perm, transpose_laid},
    {"Unsqueeze", 1, 2, axes_alone, unsqueeze_laid},
}};

// Rows of sums and products with a constant.
constexpr std::array<OnnxOperator, 4> with_constants = {{
    {"Add", 2, 2, {}, add_constant},
    {"Div", 2, 2, {}, divide_by_constant},
    {"Mul", 2, 2, {}, multiply_by_constant},
    {"Sub", 2, 2, {}, subtract_constant},
}};

const OnnxOperator* find_row(std::span<const OnnxOperator> rows, const onnx::NodeProto& node) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const OnnxOperator& known) { return is_operator(node, known.name); });
  return row == rows.end() ? nullptr : &*row;
}

bool reads_constant(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  return node.input_size() == 2 && (builder.constant(node, 0) != nullptr || builder.constant(node, 1) != nullptr);
}

bool reads_scores(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  return std::any_of(node.input().begin(), node.input().end(),
                     [&](const std::string& input) { return builder.tokens().scores(input) != nullptr; });
}

Result<void> convert_with(const OnnxOperator& row, const onnx::NodeProto& node, OnnxBuilder& builder) {
  if (node.input_size() < row.min_inputs || node.input_size() > row.max_inputs) {
    return corrupt("has " + std::to_string(node.input_size()) + " inputs");
  }
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, row.attributes);
  if (!attributes) return attributes.error();
  const OnnxNode own{node, *attributes};
  if (reads_guessed_value(own, builder)) {
    builder.guess(node);
    return {};
  }
  return row.convert(own, builder);
}

// Returns the row of a node that reads scores of attention; nullptr if it may not.
const OnnxOperator* find_row_of_scores(const onnx::NodeProto& node) {
  static constexpr std::array<OnnxOperator, 8> rows = {{
      {"Cast", 1, 1, {}, pass_laid_on},
      {"Div", 2, 2, {}, scale_scores},
      {"Einsum", 2, 2, equation, convert_einsum},
      {"Identity", 1, 1, {}, pass_laid_on},
      {"MatMul", 2, 2, {}, multiply_tokens},
      {"Mul", 2, 2, {}, scale_scores},
      {"Softmax", 1, 1, axis_alone, share_scores},
      {"Transpose", 1, 1, perm, transpose_laid},
  }};
  return find_row(rows, node);
}

Error not_of_scores() {
  return unsupported(
      "reads scores of attention, which is not supported; only a scale, a softmax over the keys and the "
      "product with the values may do that");
}

bool is_of_values(const onnx::NodeProto& node) {
  return makes_each_of_itself(node) ||
         std::any_of(of_two.begin(), of_two.end(), [&](Names name) { return is_operator(node, name); });
}

// Returns the row for a tensor in another layout; nullptr if the node may not read one, or reads it as values.
const OnnxOperator* find_row_of_layouts(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  if (reads_constant(node, builder)) {
    if (const OnnxOperator* row = find_row(with_constants, node)) return row;
  }
  return find_row(layouts, node);
}

bool is_turned(const std::string& tensor, const OnnxBuilder& builder) {
  return builder.turned(tensor) != nullptr || builder.grouped(tensor) != nullptr;
}

}  // namespace

bool reads_tokens(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  if (is_operator(node, "Shape")) return false;
  const bool is_product = is_product_of_tensors(node, builder) && !builder.is_guessed_number(node.input(0));
  return is_product || reads_scores(node, builder) ||
         std::any_of(node.input().begin(), node.input().end(),
                     [&](const std::string& input) { return builder.tokens().laid(input) != nullptr; });
}

Result<void> convert_tokens(const onnx::NodeProto& node, OnnxBuilder& builder, const OnnxOperator* regular) {
  if (reads_scores(node, builder)) {
    const OnnxOperator* row = find_row_of_scores(node);
    return row == nullptr ? not_of_scores() : convert_with(*row, node, builder);
  }
  if (const OnnxOperator* row = find_row_of_layouts(node, builder)) return convert_with(*row, node, builder);
  if (regular != nullptr && is_of_values(node)) return convert_of_values(*regular, node, builder);
  return unsupported("reads voxels that are laid out as tokens, which is not supported here");
}

bool append_in_layout(const onnx::NodeProto& node, OnnxBuilder& builder, const std::string& x,
                      const Operation& operation) {
  if (const AxisLayout* laid = builder.tokens().laid(x)) {
    AxisLayout made = *laid;
    made.value = builder.append_part(node, operation, made.value, builder.channels(made.value));
    keep_layout(node.output(0), builder, std::move(made));
    return true;
  }
  const TurnedValue* turned = builder.turned(x);
  if (turned == nullptr) return false;
  TurnedValue made = *turned;
  made.value = builder.append_part(node, operation, made.value, builder.channels(made.value));
  builder.turn(node, std::move(made));
  return true;
}

bool is_of_tokens(const OnnxWrittenNorm& norm, const OnnxBuilder& builder) {
  const AxisLayout* laid = builder.tokens().laid(norm.x);
  if (laid == nullptr) return false;
  const Result<std::size_t> place = place_of_axis(norm.axis, laid->axes.size());
  return place && *place + 1 == laid->axes.size();
}

Result<void> convert_norm_of_tokens(const OnnxWrittenNorm& norm, OnnxBuilder& builder) {
  const AxisLayout of = *builder.tokens().laid(norm.x);
  const Result<OnnxAttributes> none = OnnxAttributes::make(onnx::NodeProto(), {});
  if (!none) return none.error();
  return append_of_voxel({*norm.last, *none}, builder, of, AcrossChannels{AcrossKind::norm, norm.epsilon},
                         extent_of(of.axes.back()), {});
}

bool may_lay_out(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  if (node.input_size() == 0) return false;
  const bool reads_turned = std::any_of(node.input().begin(), node.input().end(),
                                        [&](const std::string& input) { return is_turned(input, builder); });
  if (is_operator(node, "Reshape")) {
    const std::optional<KnownTensor> target = builder.known_at(node, 1);
    return target && target->elements.size() >= min_axes && builder.split(node.input(0)) == nullptr;
  }
  const bool is_linear = is_operator(node, "MatMul") || is_operator(node, "Transpose") || is_operator(node, "Split");
  return reads_turned && (is_linear || is_of_values(node));
}

}  // namespace znni
