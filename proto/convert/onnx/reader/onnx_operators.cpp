#include "proto/convert/onnx/reader/onnx_operators.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/folding/onnx_fold.hpp"
#include "proto/convert/onnx/operators/onnx_activation.hpp"
#include "proto/convert/onnx/operators/onnx_arg_max.hpp"
#include "proto/convert/onnx/operators/onnx_channels.hpp"
#include "proto/convert/onnx/operators/onnx_clip.hpp"
#include "proto/convert/onnx/operators/onnx_conv_transpose.hpp"
#include "proto/convert/onnx/operators/onnx_convolution.hpp"
#include "proto/convert/onnx/operators/onnx_crop.hpp"
#include "proto/convert/onnx/operators/onnx_extremes.hpp"
#include "proto/convert/onnx/operators/onnx_flatten.hpp"
#include "proto/convert/onnx/operators/onnx_global_pool.hpp"
#include "proto/convert/onnx/operators/onnx_join.hpp"
#include "proto/convert/onnx/operators/onnx_layer_norm.hpp"
#include "proto/convert/onnx/operators/onnx_lengths.hpp"
#include "proto/convert/onnx/operators/onnx_norm.hpp"
#include "proto/convert/onnx/operators/onnx_pooled.hpp"
#include "proto/convert/onnx/operators/onnx_pooling.hpp"
#include "proto/convert/onnx/operators/onnx_reshape.hpp"
#include "proto/convert/onnx/operators/onnx_resize.hpp"
#include "proto/convert/onnx/operators/onnx_scale_shift.hpp"
#include "proto/convert/onnx/operators/onnx_shuffle.hpp"
#include "proto/convert/onnx/operators/onnx_softmax.hpp"
#include "proto/convert/onnx/operators/onnx_tile.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"
#include "proto/convert/onnx/reader/onnx_branch.hpp"
#include "proto/convert/onnx/tokens/onnx_tokens.hpp"

namespace znni {
namespace {

using Names = std::string_view;

constexpr std::array<Names, 1> allowzero = {"allowzero"};
constexpr std::array<Names, 1> alpha = {"alpha"};
constexpr std::array<Names, 1> approximate = {"approximate"};
constexpr std::array<Names, 3> arg_max = {"axis", "keepdims", "select_last_index"};
constexpr std::array<Names, 1> axis_names = {"axis"};
constexpr std::array<Names, 1> body = {"body"};
constexpr std::array<Names, 2> bounds = {"max", "min"};  // up to operator set 10
constexpr std::array<Names, 2> branches = {"else_branch", "then_branch"};
constexpr std::array<Names, 3> cast = {"round_mode", "saturate", "to"};
constexpr std::array<Names, 3> layer_normalization = {"axis", "epsilon", "stash_type"};
constexpr std::array<Names, 3> split = {"axis", "num_outputs", "split"};
constexpr std::array<Names, 6> convolution = {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"};
constexpr std::array<Names, 7> max_pool = {"auto_pad", "ceil_mode",     "dilations", "kernel_shape",
                                           "pads",     "storage_order", "strides"};
constexpr std::array<Names, 7> average_pool = {
    "auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"};
constexpr std::array<Names, 4> batch_normalization = {"epsilon", "momentum", "spatial", "training_mode"};
constexpr std::array<Names, 8> conv_transpose = {"auto_pad",       "dilations",    "group", "kernel_shape",
                                                 "output_padding", "output_shape", "pads",  "strides"};
constexpr std::array<Names, 2> depth_to_space = {"blocksize", "mode"};
constexpr std::array<Names, 2> dropout = {"ratio", "seed"};
constexpr std::array<Names, 1> epsilon = {"epsilon"};
// stash_type is the precision that a framework computes with.
constexpr std::array<Names, 3> group_normalization = {"epsilon", "num_groups", "stash_type"};
constexpr std::array<Names, 2> hard_sigmoid = {"alpha", "beta"};
constexpr std::array<Names, 2> lp_normalization = {"axis", "p"};
constexpr std::array<Names, 3> pad = {"mode", "pads", "value"};
constexpr std::array<Names, 1> perm = {"perm"};
constexpr std::array<Names, 3> reduction = {"axes", "keepdims", "noop_with_empty_axes"};
constexpr std::array<Names, 9> resize = {"antialias",
                                         "axes",
                                         "coordinate_transformation_mode",
                                         "cubic_coeff_a",
                                         "exclude_outside",
                                         "extrapolation_value",
                                         "keep_aspect_ratio_policy",
                                         "mode",
                                         "nearest_mode"};
constexpr std::array<Names, 2> selu = {"alpha", "gamma"};
constexpr std::array<Names, 1> upsample = {"mode"};
constexpr std::array<Names, 1> squeeze = {"axes"};
constexpr std::array<Names, 3> slice = {"axes", "ends", "starts"};
constexpr int any = std::numeric_limits<int>::max();

Result<void> convert_constant(const OnnxNode&, OnnxBuilder&) {
  return unsupported("holds something else than one tensor of numbers, which is not supported");
}

constexpr std::array<OnnxOperator, 58> operators = {{
    {"Add", 2, 2, {}, convert_add},
    {"ArgMax", 1, 1, arg_max, convert_arg_max},
    {"AveragePool", 1, 1, average_pool, convert_average_pool},
    {"BatchNormalization", 5, 5, batch_normalization, convert_batch_normalization},
    {"Cast", 1, 1, cast, convert_cast},
    {"Clip", 1, 3, bounds, convert_clip},
    {"Concat", 1, any, axis_names, convert_concat},
    {"Constant", 0, 0, {}, convert_constant},
    {"Conv", 2, 3, convolution, convert_conv},
    {"ConvTranspose", 2, 3, conv_transpose, convert_conv_transpose},
    {"DepthToSpace", 1, 1, depth_to_space, convert_depth_to_space},
    {"Div", 2, 2, {}, convert_div},
    {"Dropout", 1, 3, dropout, convert_dropout},
    {"Elu", 1, 1, alpha, convert_elu},
    {"Expand", 2, 2, {}, convert_expand},
    {"Flatten", 1, 1, axis_names, convert_flatten_of_voxels},
    {"Gelu", 1, 1, approximate, convert_gelu},
    {"GlobalAveragePool", 1, 1, {}, convert_global_average_pool},
    {"GlobalMaxPool", 1, 1, {}, convert_global_max_pool},
    {"GroupNormalization", 3, 3, group_normalization, convert_group_normalization},
    {"HardSigmoid", 1, 1, hard_sigmoid, convert_hard_sigmoid},
    {"HardSwish", 1, 1, {}, convert_hard_swish},
    {"Identity", 1, 1, {}, convert_identity},
    {"If", 1, 1, branches, convert_if},
    {"InstanceNormalization", 3, 3, epsilon, convert_instance_normalization},
    {"LayerNormalization", 2, 3, layer_normalization, convert_layer_normalization},
    {"LeakyRelu", 1, 1, alpha, convert_leaky_relu},
    {"Log", 1, 1, {}, convert_log},
    {"LogSoftmax", 1, 1, axis_names, convert_log_softmax},
    {"Loop", 2, any, body, convert_loop},
    {"LpNormalization", 1, 1, lp_normalization, convert_lp_normalization},
    {"Max", 1, any, {}, convert_max},
    {"MaxPool", 1, 1, max_pool, convert_max_pool},
    {"Min", 1, any, {}, convert_min},
    {"Mish", 1, 1, {}, convert_mish},
    {"Mul", 2, 2, {}, convert_mul},
    {"PRelu", 2, 2, {}, convert_prelu},
    {"Pad", 1, 4, pad, convert_pad},
    {"Reciprocal", 1, 1, {}, convert_reciprocal},
    {"ReduceMax", 1, 2, reduction, convert_reduce_max},
    {"ReduceMean", 1, 2, reduction, convert_reduce_mean},
    {"Relu", 1, 1, {}, convert_relu},
    {"Reshape", 2, 2, allowzero, convert_reshape},
    {"Resize", 2, 4, resize, convert_resize},
    {"Selu", 1, 1, selu, convert_selu},
    {"Sigmoid", 1, 1, {}, convert_sigmoid},
    {"Slice", 1, 5, slice, convert_slice},
    {"Softmax", 1, 1, axis_names, convert_softmax},
    {"Softplus", 1, 1, {}, convert_softplus},
    {"Split", 1, 2, split, convert_split},
    {"Squeeze", 1, 2, squeeze, convert_squeeze},
    {"Sub", 2, 2, {}, convert_sub},
    {"Swish", 1, 1, alpha, convert_swish},
    {"Tanh", 1, 1, {}, convert_tanh},
    {"Tile", 2, 2, {}, convert_tile},
    {"Transpose", 1, 1, perm, convert_transpose},
    {"Unsqueeze", 1, 2, squeeze, convert_unsqueeze},
    {"Upsample", 2, 2, upsample, convert_upsample},
}};

std::string supported() {
  std::string names;
  for (const OnnxOperator& row : operators) names.append(names.empty() ? "" : ", ").append(row.name);
  return names;
}

Result<void> convert_with(const OnnxOperator& row, const onnx::NodeProto& node, OnnxBuilder& builder) {
  const OnnxOperator* own = find_onnx_operator(node);
  const std::span<const Names> allowed = row.attributes.empty() && own != nullptr ? own->attributes : row.attributes;
  if (node.input_size() < row.min_inputs || node.input_size() > row.max_inputs) {
    return corrupt("has " + std::to_string(node.input_size()) + " inputs; " + std::to_string(row.min_inputs) +
                   (row.max_inputs == row.min_inputs ? "" : " or more") + " are right");
  }
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, allowed);
  if (!attributes) return attributes.error();
  if (Result<void> converted = row.convert({node, *attributes}, builder); !converted) return converted;
  return builder.check_limits();
}

Error unknown_operator() { return unsupported(std::string(not_an_operator) + "; supported are: " + supported()); }

// Converts a node that reads what is pooled of all voxels.
Result<void> convert_pooled(const onnx::NodeProto& node, OnnxBuilder& builder) {
  if (const OnnxOperator* row = find_pooled_operator(node)) return convert_with(*row, node, builder);
  const OnnxOperator* row = find_onnx_operator(node);
  if (row == nullptr) return unknown_operator();
  const Result<int> axes = pooled_axes_behind(node, builder);
  if (!axes) return axes.error();
  if (Result<void> converted = convert_with(*row, node, builder); !converted) return converted;
  if (*axes > 0) builder.note_pooled(node, *axes);
  return {};
}

// Converts a node that reads all numbers of a patch in one row.
Result<void> convert_flat(const onnx::NodeProto& node, OnnxBuilder& builder) {
  const bool is_first = builder.flat(node.input(0)) != nullptr;
  if (const OnnxOperator* row = find_flat_operator(node); row != nullptr && is_first)
    return convert_with(*row, node, builder);
  const OnnxOperator* row = find_onnx_operator(node);
  if (row == nullptr && is_first) return unknown_operator();
  if (Result<void> keeps = check_keeps_flat(node, builder); !keeps) return keeps;
  const FlatTensor flat = *builder.flat(node.input(0));
  if (Result<void> converted = convert_with(*row, node, builder); !converted) return converted;
  builder.note_flat(node, flat);
  return {};
}

// Guesses what a linear layer behind a refused node writes: that could have flattened its input. Returns whether the
// node is one.
bool convert_linear_of_guess(const onnx::NodeProto& node, OnnxBuilder& builder) {
  const int input = node.input_size() == 0 ? -1 : builder.value_of(node.input(0));
  const bool is_linear = find_flat_operator(node) != nullptr && input >= 0 && builder.is_guessed(input);
  if (is_linear) builder.guess(node);
  return is_linear;
}

Result<void> convert_as_tokens(const onnx::NodeProto& node, OnnxBuilder& builder, const OnnxOperator* row) {
  if (Result<void> converted = convert_tokens(node, builder, row); !converted) return converted;
  return builder.check_limits();
}

Result<void> convert_any(const onnx::NodeProto& node, OnnxBuilder& builder) {
  if (reads_flat(node, builder)) return convert_flat(node, builder);
  if (reads_pooled(node, builder)) return convert_pooled(node, builder);
  const Result<bool> folded = fold_node(node, builder);
  if (!folded) return folded.error();
  if (*folded) return {};
  const OnnxOperator* row = find_onnx_operator(node);
  if (reads_tokens(node, builder)) return convert_as_tokens(node, builder, row);
  if (row != nullptr) {
    const Result<void> converted = convert_with(*row, node, builder);
    if (converted || !may_lay_out(node, builder)) return converted;
    return convert_as_tokens(node, builder, row) ? Result<void>() : converted;
  }
  if (may_lay_out(node, builder)) return convert_as_tokens(node, builder, row);
  return convert_linear_of_guess(node, builder) ? Result<void>() : unknown_operator();
}

}  // namespace

std::span<const OnnxOperator> onnx_operators() { return operators; }

const OnnxOperator* find_onnx_operator(const onnx::NodeProto& node) {
  const auto row = std::find_if(operators.begin(), operators.end(),
                                [&](const OnnxOperator& known) { return is_operator(node, known.name); });
  return row == operators.end() ? nullptr : &*row;
}

Result<void> convert_node(const onnx::NodeProto& node, OnnxBuilder& builder) {
  if (!reads_whole(node, builder)) return convert_any(node, builder);
  if (Result<void> keeps = check_keeps_whole(node, builder); !keeps) return keeps;
  if (Result<void> converted = convert_any(node, builder); !converted) return converted;
  note_whole_outputs(node, builder);
  return {};
}

}  // namespace znni
