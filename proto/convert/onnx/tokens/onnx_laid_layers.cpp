#include "proto/convert/onnx/tokens/onnx_laid_layers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/tokens/onnx_laid.hpp"

namespace znni {
namespace {

// A constant and the tensor that it is computed with.
struct Operands {
  AxisLayout layout;
  bool constant_first = false;
  std::vector<float> numbers;  // of each channel of the value
  bool is_per_voxel = false;   // [f][voxels]; else [f]
};

// Returns the extent of an axis of a constant that has these, of as many axes at the end as it has.
std::int64_t own_extent(const std::vector<std::int64_t>& dims, std::size_t axis, std::size_t axes) {
  const std::size_t missing = axes - dims.size();
  return axis < missing ? 1 : dims[axis - missing];
}

// Returns whether the constant has, along each axis, one place or all.
bool suits(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& extents) {
  if (dims.size() > extents.size()) return false;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const std::int64_t own = own_extent(dims, axis, extents.size());
    if (own != 1 && own != extents[axis]) return false;
  }
  return true;
}

// Returns the places of one voxel: all channels.
AxisLayout of_one_voxel(const AxisLayout& layout) {
  AxisLayout channels = layout;
  for (LayoutAxis& axis : channels.axes)
    std::erase_if(axis, [](const LayoutPart& part) { return part.channel_step == 0; });
  return channels;
}

// Returns the numbers of a constant that suits the extents of a layout, [f][voxels]; `voxels` is 1 of one voxel's.
std::vector<float> numbers_of_places(const std::vector<float>& numbers, const std::vector<std::int64_t>& dims,
                                     const AxisLayout& layout, std::int64_t voxels) {
  const std::vector<std::int64_t> extents = extents_of(layout);
  std::vector<std::size_t> from = {0};  // per place so far
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const std::int64_t own = own_extent(dims, axis, extents.size());
    std::vector<std::size_t> next;
    for (const std::size_t place : from) {
      for (std::int64_t i = 0; i < extents[axis]; ++i) {
        next.push_back(place * static_cast<std::size_t>(own) + static_cast<std::size_t>(own == 1 ? 0 : i));
      }
    }
    from = std::move(next);
  }
  const std::vector<LayoutPlace> places = places_of(layout);
  std::vector<float> sorted(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    sorted[static_cast<std::size_t>(places[i].channel * voxels + places[i].voxel)] = numbers[from[i]];
  }
  return sorted;
}

std::int64_t count_of_voxels(const OnnxBuilder& builder, int value) {
  std::int64_t count = 1;
  for (int axis = 3 - builder.rank(); axis < 3; ++axis) {
    count = mul(count, extent_along(builder.extents(value), axis)->least);
  }
  return count;
}

// Returns whether the tensor has some of its value's channels alone.
bool is_part(const AxisLayout& layout, const OnnxBuilder& builder) {
  const std::vector<std::int64_t> extents = extents_of(of_one_voxel(layout));
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, mul) != builder.channels(layout.value);
}

// Puts the numbers of a constant of these extents into `operands`: for each channel of the value, or for each voxel.
Result<void> spread(std::vector<float> numbers, const std::vector<std::int64_t>& dims, const OnnxBuilder& builder,
                    Operands& operands) {
  const AxisLayout& layout = operands.layout;
  const std::int64_t f = builder.channels(layout.value);
  if (numbers.size() == 1 && dims.size() <= layout.axes.size()) {
    operands.numbers.assign(static_cast<std::size_t>(f), numbers.front());
    return {};
  }
  const std::int64_t count = std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, mul);
  const bool fits = suits(dims, extents_of(layout)) && count == std::ssize(numbers);
  if (!fits || is_part(layout, builder)) {
    return unsupported("is neither one number nor a tensor for all channels and voxels, which is not supported");
  }
  const AxisLayout channels = of_one_voxel(layout);
  operands.is_per_voxel = !suits(dims, extents_of(channels));
  const std::int64_t voxels = operands.is_per_voxel ? count_of_voxels(builder, layout.value) : 1;
  if (operands.is_per_voxel && mul(f, voxels) > builder.room()) {
    return unsupported("has numbers that differ from voxel to voxel, for more of them than the file has room for");
  }
  operands.numbers = numbers_of_places(numbers, dims, operands.is_per_voxel ? layout : channels, voxels);
  return {};
}

Result<Operands> operands_of(const OnnxNode& node, OnnxBuilder& builder) {
  const int index = builder.constant(node.proto, 1) != nullptr ? 1 : 0;
  const onnx::TensorProto& constant = *builder.constant(node.proto, index);
  Result<AxisLayout> layout = layout_at(node, builder, 1 - index);
  if (!layout) return layout.error();
  const Result<std::vector<std::int64_t>> dims = dims_of(constant);
  if (!dims) return dims.error();
  Result<std::vector<float>> numbers = builder.floats_of(constant);
  if (!numbers) return numbers.error();
  Operands operands{*std::move(layout), index == 0, {}};
  if (Result<void> done = spread(*std::move(numbers), *dims, builder, operands); !done) {
    return Error{done.error().code, "constant " + in_quotes(node.proto.input(index)) + " " + done.error().message};
  }
  return operands;
}

Result<void> append_scaled(const OnnxNode& node, OnnxBuilder& builder, const Operands& operands, NodeWeights weights) {
  const std::int64_t f = builder.channels(operands.layout.value);
  AxisLayout made = operands.layout;
  made.value = builder.append_part(node.proto, ScaleShift{}, made.value, f, std::move(weights));
  keep_layout(node.proto.output(0), builder, std::move(made));
  return {};
}

Result<void> append_volume(const OnnxNode& node, OnnxBuilder& builder, Operands operands) {
  AddVolume volume;
  for (int axis = 3 - builder.rank(); axis < 3; ++axis) {
    volume.extent[axis] = extent_along(builder.extents(operands.layout.value), axis)->least;
  }
  const std::int64_t f = builder.channels(operands.layout.value);
  NodeWeights weights{{}, {}, {}, std::move(operands.numbers)};
  operands.layout.value = builder.append_part(node.proto, volume, operands.layout.value, f, std::move(weights));
  keep_layout(node.proto.output(0), builder, std::move(operands.layout));
  return {};
}

Error no_factors_of_voxels() { return unsupported("of numbers that differ from voxel to voxel is not supported"); }

// Returns the kernels, [f_out][f], of the constant matrix.
Result<NodeWeights> matrix_of(const OnnxNode& node, const OnnxBuilder& builder, std::int64_t f, bool is_turned,
                              std::int64_t& f_out) {
  const onnx::TensorProto* matrix = builder.constant(node.proto, 1);
  if (matrix == nullptr) return unsupported("of two computed tensors is not supported here; only by a constant");
  const Result<std::vector<std::int64_t>> dims = dims_of(*matrix);
  if (!dims) return dims.error();
  if (dims->size() != 2 || (*dims)[is_turned ? 1 : 0] != f || (*dims)[is_turned ? 0 : 1] < 1) {
    return corrupt("weights " + in_quotes(matrix->name()) + " are no matrix for the " + std::to_string(f) +
                   " channels of the input");
  }
  Result<std::vector<float>> numbers = builder.floats_of(*matrix);
  if (!numbers) return numbers.error();
  f_out = (*dims)[is_turned ? 0 : 1];
  if (is_turned) return NodeWeights{*std::move(numbers), {}, {}, {}};
  NodeWeights weights{std::vector<float>(numbers->size()), {}, {}, {}};
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const std::size_t in = i / static_cast<std::size_t>(f_out);
    const std::size_t out = i % static_cast<std::size_t>(f_out);
    weights.kernels[out * static_cast<std::size_t>(f) + in] = (*numbers)[i];
  }
  return weights;
}

Result<void> append_linear(const OnnxNode& node, OnnxBuilder& builder, bool is_turned, int bias) {
  const Result<AxisLayout> layout = layout_at(node, builder, 0);
  if (!layout) return layout.error();
  std::int64_t f_out = 0;
  const std::int64_t f = layout->axes.empty() ? 0 : extent_of(layout->axes.back());
  Result<NodeWeights> weights = matrix_of(node, builder, f, is_turned, f_out);
  if (!weights) return weights.error();
  if (bias > 0) {
    Result<std::vector<float>> numbers = builder.vector(node.proto, bias, f_out);
    if (!numbers) return numbers.error();
    weights->bias = *std::move(numbers);
  }
  return append_of_voxel(node, builder, *layout, Convolution{f_out, Vec3::cube(1), Vec3::cube(1), {}}, f_out,
                         *std::move(weights));
}

// Returns the name, with marks behind it until the file has no such tensor.
std::string name_beside_file(std::string name, const OnnxBuilder& builder) {
  while (builder.is_of_file(name)) name += '\'';
  return name;
}

// Returns a name of the value itself, which is none of the file's.
Result<std::string> name_of_value(int value, OnnxBuilder& builder) {
  std::string name = name_beside_file("value " + std::to_string(value), builder);
  if (!builder.is_written(name)) builder.name(name, value);
  if (builder.value_of(name) == value) return name;
  return corrupt("tensor " + in_quotes(name) + " of an inner graph has a name that is kept for a value; rename it");
}

}  // namespace

Result<void> append_of_voxel(const OnnxNode& node, OnnxBuilder& builder, const AxisLayout& of,
                             const Operation& operation, std::int64_t channels, NodeWeights weights) {
  Result<AxisLayout> made = with_whole_channels(node, builder, of);
  if (!made) return made.error();
  made->value = builder.append_part(node.proto, operation, made->value, channels, std::move(weights));
  made->axes.back() = axis_of_channels(channels);
  keep_layout(node.proto.output(0), builder, *std::move(made));
  return {};
}

Result<void> convert_of_values(const OnnxOperator& row, const onnx::NodeProto& node, OnnxBuilder& builder) {
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, row.attributes);
  if (!attributes) return attributes.error();
  onnx::NodeProto plain = node;
  std::optional<AxisLayout> common;
  for (int i = 0; i < node.input_size(); ++i) {
    if (node.input(i).empty() || builder.is_known(node.input(i))) continue;
    Result<AxisLayout> layout = layout_at({node, *attributes}, builder, i);
    if (layout && is_part(*layout, builder)) layout = with_whole_channels({node, *attributes}, builder, *layout);
    if (!layout) return layout.error();
    const bool is_alike = !common || (common->axes == layout->axes && common->first_channel == layout->first_channel &&
                                      builder.channels(common->value) == builder.channels(layout->value));
    if (!is_alike) return unsupported("of tensors of different layouts is not supported");
    common = *layout;
    Result<std::string> name = name_of_value(layout->value, builder);
    if (!name) return name.error();
    plain.set_input(i, *std::move(name));
  }
  plain.set_output(0, name_beside_file(node.output(0) + " as a value", builder));
  if (builder.is_written(plain.output(0))) return corrupt("tensor " + in_quotes(plain.output(0)) + " is written twice");
  if (Result<void> converted = row.convert({plain, *attributes}, builder); !converted) return converted;
  common->value = builder.value_of(plain.output(0));
  if (common->value < 0) return unsupported("of this layout is not supported");
  keep_layout(node.output(0), builder, *std::move(common));
  return {};
}

Result<void> add_constant(const OnnxNode& node, OnnxBuilder& builder) {
  Result<Operands> operands = operands_of(node, builder);
  if (!operands) return operands.error();
  if (operands->is_per_voxel) return append_volume(node, builder, *std::move(operands));
  NodeWeights weights;
  weights.scale.assign(operands->numbers.size(), 1.0F);
  weights.shift = operands->numbers;
  return append_scaled(node, builder, *operands, std::move(weights));
}

Result<void> subtract_constant(const OnnxNode& node, OnnxBuilder& builder) {
  Result<Operands> operands = operands_of(node, builder);
  if (!operands) return operands.error();
  if (operands->is_per_voxel && operands->constant_first) return no_factors_of_voxels();
  std::vector<float> shift = operands->numbers;
  if (!operands->constant_first) std::transform(shift.begin(), shift.end(), shift.begin(), std::negate<>());
  if (operands->is_per_voxel) {
    operands->numbers = std::move(shift);
    return append_volume(node, builder, *std::move(operands));
  }
  NodeWeights weights;
  weights.scale.assign(shift.size(), operands->constant_first ? -1.0F : 1.0F);
  weights.shift = std::move(shift);
  return append_scaled(node, builder, *operands, std::move(weights));
}

Result<void> multiply_by_constant(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<Operands> operands = operands_of(node, builder);
  if (!operands) return operands.error();
  if (operands->is_per_voxel) return no_factors_of_voxels();
  NodeWeights weights;
  weights.scale = operands->numbers;
  weights.shift.assign(weights.scale.size(), 0.0F);
  return append_scaled(node, builder, *operands, std::move(weights));
}

Result<void> divide_by_constant(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<Operands> operands = operands_of(node, builder);
  if (!operands) return operands.error();
  if (operands->is_per_voxel) return no_factors_of_voxels();
  if (operands->constant_first) return unsupported("of a constant by a tensor is not supported");
  NodeWeights weights;
  for (const float divisor : operands->numbers) {
    if (divisor == 0) return corrupt("by 0");
    weights.scale.push_back(1 / divisor);
  }
  weights.shift.assign(weights.scale.size(), 0.0F);
  return append_scaled(node, builder, *operands, std::move(weights));
}

Result<void> convert_linear_of_tokens(const OnnxNode& node, OnnxBuilder& builder) {
  return append_linear(node, builder, false, 0);
}

Result<void> convert_gemm_of_tokens(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<float> alpha = node.attributes.real("alpha", 1);
  const Result<float> beta = node.attributes.real("beta", 1);
  const Result<std::int64_t> turns = node.attributes.integer("transB", 0);
  const Result<std::int64_t> turns_input = node.attributes.integer("transA", 0);
  const bool is_plain = alpha && beta && *alpha == 1 && *beta == 1 && turns && turns_input && *turns_input == 0;
  if (!is_plain) return unsupported("of tokens is supported with alpha, beta of 1 and without transA alone");
  return append_linear(node, builder, *turns != 0, OnnxBuilder::has_input(node.proto, 2) ? 2 : 0);
}

Result<void> normalise_tokens(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<std::int64_t> axis = node.attributes.integer("axis", -1);
  if (!axis) return axis.error();
  const Result<float> epsilon = node.attributes.real("epsilon", 1e-5F);
  if (!epsilon) return epsilon.error();
  if (!std::isfinite(*epsilon) || *epsilon <= 0) return unsupported("epsilon is no finite number above 0");
  const Result<AxisLayout> layout = layout_at(node, builder, 0);
  if (!layout) return layout.error();
  const Result<std::size_t> place = place_of_axis(*axis, layout->axes.size());
  if (!place) return place.error();
  if (*place + 1 != layout->axes.size()) return unsupported("over several axes of tokens is not supported");
  const std::int64_t f = extent_of(layout->axes.back());
  Result<AxisLayout> made = with_whole_channels(node, builder, *layout);
  if (!made) return made.error();
  NodeWeights weights{{}, {}, {}, std::vector<float>(static_cast<std::size_t>(f), 0.0F)};
  for (const int input : {1, 2}) {
    if (!OnnxBuilder::has_input(node.proto, input)) continue;
    Result<std::vector<float>> numbers = builder.vector(node.proto, input, f);
    if (!numbers) return numbers.error();
    (input == 1 ? weights.scale : weights.shift) = *std::move(numbers);
  }
  made->value = builder.append_part(node.proto, AcrossChannels{AcrossKind::norm, *epsilon}, made->value, f);
  made->value = builder.append_part(node.proto, ScaleShift{}, made->value, f, std::move(weights));
  keep_layout(node.proto.output(0), builder, *std::move(made));
  return {};
}

}  // namespace znni
