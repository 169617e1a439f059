#include "proto/convert/onnx/operators/onnx_pooled.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/operators/onnx_linear.hpp"

namespace znni {
namespace {

using Names = std::string_view;
using Numbers = std::vector<VolumeNumber>;

constexpr int axes_before_space = 2;
constexpr int max_axes = 8;
constexpr int sizes_of_resize = 3;

constexpr std::array<Names, 1> axes_alone = {"axes"};
constexpr std::array<Names, 1> axis_alone = {"axis"};
constexpr std::array<Names, 4> gemm = {"alpha", "beta", "transA", "transB"};
constexpr std::array<Names, 17> each_by_itself = {"Cast",      "Clip",     "Dropout",   "Elu",   "Gelu", "HardSigmoid",
                                                  "HardSwish", "Identity", "LeakyRelu", "Mish",  "Relu", "Reciprocal",
                                                  "Selu",      "Sigmoid",  "Softplus",  "Swish", "Tanh"};
// Make a voxel of the channels of that voxel: those of axis 1.
constexpr std::array<Names, 6> of_one_voxel = {"ArgMax", "BatchNormalization", "LayerNormalization",
                                               "Log",    "LogSoftmax",         "Softmax"};
constexpr std::array<Names, 5> arithmetic = {"Add", "Div", "Mul", "PRelu", "Sub"};

bool is_one_of(const onnx::NodeProto& node, std::span<const Names> names) {
  return std::any_of(names.begin(), names.end(), [&](Names name) { return is_operator(node, name); });
}

Error not_here(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  const bool is_of_patch = std::any_of(node.input().begin(), node.input().end(),
                                       [&](const std::string& input) { return builder.is_of_patch(input); });
  return unsupported(is_of_patch ? "its input is one voxel of each patch, which is not supported here"
                                 : "its input is pooled of all voxels, which is not supported here");
}

// A pooled tensor.
struct Pooled {
  int value = 0;
  int axes = 0;
};

Result<Pooled> pooled_at_0(const OnnxNode& node, const OnnxBuilder& builder) {
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  const int axes = builder.pooled_axes(node.proto.input(0));
  return axes > 0 ? Result<Pooled>(Pooled{*value, axes}) : not_here(node.proto, builder);
}

// Makes the node's output the value, with other axes.
Result<void> with_axes(const OnnxNode& node, OnnxBuilder& builder, int value, int axes) {
  if (axes > max_axes) return unsupported("makes more than " + std::to_string(max_axes) + " axes");
  builder.alias(node.proto, value);
  builder.note_pooled(node.proto, axes);
  return {};
}

// Returns the numbers of an attribute, or of input 1 in later operator sets.
Result<std::vector<std::int64_t>> named_axes(const OnnxNode& node, const OnnxBuilder& builder) {
  if (!OnnxBuilder::has_input(node.proto, 1)) return node.attributes.integers("axes");
  const std::optional<KnownTensor> tensor = builder.known_at(node.proto, 1);
  return tensor ? integers_of(*tensor) : unsupported("its axes are computed, which is not supported");
}

// Fails unless the axes, of a tensor that has `count`, differ and have one voxel each.
Result<void> check_spatial(const std::vector<std::int64_t>& axes, int count) {
  std::set<std::int64_t> seen;
  for (const std::int64_t named : axes) {
    const std::int64_t axis = named < 0 ? named + count : named;
    const bool is_spatial = axis >= axes_before_space && axis < count;
    if (is_spatial && seen.insert(axis).second) continue;
    return unsupported("axis " + std::to_string(named) + " is not supported here; only spatial axes, each once");
  }
  return axes.empty() ? Result<void>(unsupported("names no axes, which is not supported here")) : Result<void>();
}

Result<void> convert_squeeze(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<Pooled> pooled = pooled_at_0(node, builder);
  if (!pooled) return pooled.error();
  const Result<std::vector<std::int64_t>> axes = named_axes(node, builder);
  if (!axes) return axes.error();
  if (Result<void> sound = check_spatial(*axes, pooled->axes); !sound) return sound;
  return with_axes(node, builder, pooled->value, pooled->axes - static_cast<int>(axes->size()));
}

Result<void> convert_unsqueeze(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<Pooled> pooled = pooled_at_0(node, builder);
  if (!pooled) return pooled.error();
  const Result<std::vector<std::int64_t>> axes = named_axes(node, builder);
  if (!axes) return axes.error();
  const int added = static_cast<int>(std::min<std::size_t>(axes->size(), max_axes));
  if (Result<void> sound = check_spatial(*axes, pooled->axes + added); !sound) return sound;
  return with_axes(node, builder, pooled->value, pooled->axes + added);
}

Result<void> convert_flatten(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<Pooled> pooled = pooled_at_0(node, builder);
  if (!pooled) return pooled.error();
  const Result<std::int64_t> axis = node.attributes.integer("axis", 1);
  if (!axis) return axis.error();
  if ((*axis < 0 ? *axis + pooled->axes : *axis) != 1) {
    return unsupported("axis = " + std::to_string(*axis) + " is not supported; only 1");
  }
  return with_axes(node, builder, pooled->value, axes_before_space);
}

// Returns the numbers of input `index`.
Result<Numbers> numbers_at(const OnnxNode& node, const OnnxBuilder& builder, int index) {
  if (!OnnxBuilder::has_input(node.proto, index)) return corrupt("input " + std::to_string(index) + " is missing");
  const std::optional<KnownTensor> tensor = builder.known_at(node.proto, index);
  if (tensor) return numbers_of(*tensor);
  return unsupported("its input " + in_quotes(node.proto.input(index)) +
                     " is computed of something else than constants and shapes, which is not supported");
}

// Returns an extent of a pooled tensor.
VolumeNumber extent_of(const OnnxBuilder& builder, int value, std::size_t axis) {
  return {axis == 0 ? builder.batch() : axis == 1 ? builder.channels(value) : 1, {}};
}

Result<void> convert_reshape_of_pooled(const OnnxNode& node, OnnxBuilder& builder) {
  if (builder.guess_reader(node.proto)) return {};
  const Result<Pooled> pooled = pooled_at_0(node, builder);
  if (!pooled) return pooled.error();
  const Result<Numbers> target = numbers_at(node, builder, 1);
  if (!target) return target.error();
  const Result<std::int64_t> allows_zero = node.attributes.integer("allowzero", 0);
  if (!allows_zero) return allows_zero.error();
  int open = 0;
  bool fits = target->size() >= axes_before_space && target->size() <= max_axes;
  for (std::size_t axis = 0; axis < target->size(); ++axis) {
    const VolumeNumber& asked = (*target)[axis];
    const bool is_open = asked == VolumeNumber{-1, {}};
    const bool copies = *allows_zero == 0 && asked == VolumeNumber{} && axis < static_cast<std::size_t>(pooled->axes);
    open += is_open ? 1 : 0;
    fits = fits && (is_open || copies || asked == extent_of(builder, pooled->value, axis));
  }
  const bool is_guessed = builder.is_guessed(pooled->value);
  if ((fits && open <= 1) || is_guessed) {
    return with_axes(node, builder, pooled->value, fits ? static_cast<int>(target->size()) : pooled->axes);
  }
  return unsupported("of [N, C] is not supported to these extents; only to [N, C] and [N, C, 1, ...]");
}

// Makes the node's output voxels of the extents that the numbers give: those of what was pooled, or one voxel.
Result<void> spread(const OnnxNode& node, OnnxBuilder& builder, const Pooled& pooled, const Numbers& numbers) {
  if (builder.is_guessed(pooled.value)) {
    builder.guess(node.proto);
    return {};
  }
  const bool expands = is_operator(node.proto, "Expand");  // a 1 keeps what is there
  bool is_whole = pooled.axes == builder.rank() + axes_before_space && std::ssize(numbers) == pooled.axes;
  bool is_one = is_whole;
  for (std::size_t axis = 0; axis < numbers.size(); ++axis) {
    const bool is_spatial = axis >= axes_before_space;
    const VolumeNumber& asked = numbers[axis];
    const bool is_own = asked == extent_of(builder, pooled.value, axis) || (expands && asked == VolumeNumber{1, {}});
    const int spatial = static_cast<int>(axis) + 1 - builder.rank();
    is_one = is_one && is_own;
    is_whole = is_whole && (is_spatial ? extent_along(builder.extents(pooled.value), spatial) == asked : is_own);
  }
  if (!is_whole && is_one) return with_axes(node, builder, pooled.value, pooled.axes);
  if (!is_whole) {
    return unsupported("of what is pooled of all voxels is supported to the extents of those voxels alone");
  }
  builder.alias(node.proto, pooled.value);
  return {};
}

Result<void> convert_expand_of_pooled(const OnnxNode& node, OnnxBuilder& builder) {
  if (builder.guess_reader(node.proto)) return {};
  const Result<Pooled> pooled = pooled_at_0(node, builder);
  if (!pooled) return pooled.error();
  const Result<Numbers> shape = numbers_at(node, builder, 1);
  return shape ? spread(node, builder, *pooled, *shape) : shape.error();
}

// However one voxel is interpolated, the result is that voxel.
Result<void> convert_resize_of_pooled(const OnnxNode& node, OnnxBuilder& builder) {
  if (builder.guess_reader(node.proto)) return {};
  const Result<Pooled> pooled = pooled_at_0(node, builder);
  if (!pooled) return pooled.error();
  const Result<std::string> coordinates = node.attributes.text("coordinate_transformation_mode", "half_pixel");
  if (!coordinates) return coordinates.error();
  const bool is_filled = *coordinates == "tf_crop_and_resize";  // beyond the voxel with another number
  if (is_filled || node.attributes.find("axes") != nullptr) return not_here(node.proto, builder);
  const Result<Numbers> sizes = numbers_at(node, builder, sizes_of_resize);
  return sizes ? spread(node, builder, *pooled, *sizes) : sizes.error();
}

// Rows without attributes have those of the operator's own row.
constexpr std::array<OnnxOperator, 8> operators = {{
    {"Expand", 2, 2, {}, convert_expand_of_pooled},
    {"Flatten", 1, 1, axis_alone, convert_flatten},
    {"Gemm", 2, 3, gemm, convert_gemm},
    {"MatMul", 2, 2, {}, convert_mat_mul},
    {"Reshape", 2, 2, {}, convert_reshape_of_pooled},
    {"Resize", 4, 4, {}, convert_resize_of_pooled},
    {"Squeeze", 1, 2, axes_alone, convert_squeeze},
    {"Unsqueeze", 1, 2, axes_alone, convert_unsqueeze},
}};

// Returns the axes behind a sum or product: of two pooled tensors of the same axes, of one and a constant, or of one
// and voxels. Axes are counted from the last, so that [N, C] goes together with neither voxels nor one number per
// channel of a constant that has space.
Result<int> axes_behind_arithmetic(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  const int whole = builder.rank() + axes_before_space;
  int axes = 0;
  bool has_voxels = false;
  bool has_patch = false;
  for (const std::string& input : node.input()) {
    const int own = builder.pooled_axes(input);
    if (own > 0 && axes > 0 && own != axes) return not_here(node, builder);
    axes = std::max(axes, own);
    has_patch = has_patch || builder.is_of_patch(input);
    has_voxels = has_voxels || (own == 0 && builder.value_of(input) >= 0);
  }
  if (has_voxels && (axes != whole || has_patch)) return not_here(node, builder);
  return has_voxels ? 0 : axes;
}

// Returns the axes behind a convolution, which must read one voxel of each channel.
Result<int> axes_behind_convolution(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  const int whole = builder.rank() + axes_before_space;
  bool is_of_one = builder.pooled_axes(node.input(0)) == whole;
  if (const onnx::TensorProto* weights = builder.constant(node, 1)) {
    for (int axis = axes_before_space; axis < weights->dims_size(); ++axis) {
      is_of_one = is_of_one && weights->dims(axis) == 1;
    }
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    const bool is_pads = attribute.name() == "pads";
    if (!is_pads && attribute.name() != "strides") continue;
    is_of_one = is_of_one && std::all_of(attribute.ints().begin(), attribute.ints().end(),
                                         [&](std::int64_t number) { return number == (is_pads ? 0 : 1); });
  }
  return is_of_one ? Result<int>(whole) : not_here(node, builder);
}

// Returns the axes behind a Concat, which must read pooled tensors of the same axes.
Result<int> axes_behind_concat(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  const int axes = builder.pooled_axes(node.input(0));
  const bool are_alike = std::all_of(node.input().begin(), node.input().end(),
                                     [&](const std::string& input) { return builder.pooled_axes(input) == axes; });
  return are_alike ? Result<int>(axes) : not_here(node, builder);
}

}  // namespace

bool makes_each_of_itself(const onnx::NodeProto& node) { return is_one_of(node, each_by_itself); }

bool reads_pooled(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  if (is_operator(node, "Shape")) return false;
  return std::any_of(node.input().begin(), node.input().end(),
                     [&](const std::string& input) { return builder.pooled_axes(input) > 0; });
}

const OnnxOperator* find_pooled_operator(const onnx::NodeProto& node) {
  const auto row = std::find_if(operators.begin(), operators.end(),
                                [&](const OnnxOperator& known) { return is_operator(node, known.name); });
  return row == operators.end() ? nullptr : &*row;
}

Result<int> pooled_axes_behind(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  if (is_one_of(node, arithmetic)) return axes_behind_arithmetic(node, builder);
  if (is_operator(node, "Conv")) return axes_behind_convolution(node, builder);
  if (is_operator(node, "Concat")) return axes_behind_concat(node, builder);
  const int axes = builder.pooled_axes(node.input(0));
  const bool keeps_voxel = makes_each_of_itself(node) || is_one_of(node, of_one_voxel);
  return keeps_voxel && axes > 0 ? Result<int>(axes) : not_here(node, builder);
}

}  // namespace znni
