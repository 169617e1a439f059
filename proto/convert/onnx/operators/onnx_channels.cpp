#include "proto/convert/onnx/operators/onnx_channels.hpp"

#include <algorithm>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_planes.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

constexpr std::int64_t opset_of_input = 13;  // older sets have an attribute
using Integers = std::vector<std::int64_t>;

// Returns the kernels of the copy, [f_out][f]; of a copy of all, which is depthwise, [f_out][1].
std::vector<float> kernels_of(const ChannelCopy& copy, std::int64_t f, std::int64_t f_out, bool depthwise) {
  if (depthwise) return std::vector<float>(static_cast<std::size_t>(f_out), 1.0F);
  std::vector<float> kernels(static_cast<std::size_t>(f_out * f), 0.0F);
  for (std::int64_t i = 0; i < copy.count; ++i) {
    kernels[static_cast<std::size_t>((copy.zeros_before + i) * f + copy.first + i * copy.step)] = 1.0F;
  }
  return kernels;
}

// Returns the sizes of equal parts, of which the last may be smaller.
Integers equal_parts(std::int64_t f, std::int64_t parts) {
  Integers sizes;
  const std::int64_t each = div_up(f, parts);
  for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::min(each, f - i * each));
  return sizes;
}

// Makes each output a copy of its channels.
Result<void> split_channels_of(const OnnxNode& node, OnnxBuilder& builder, int value) {
  const Result<Integers> sizes = sizes_of_split(node, builder, builder.channels(value));
  if (!sizes) return sizes.error();
  ChannelCopy copy;
  for (int i = 0; i < node.proto.output_size(); ++i) {
    copy.count = (*sizes)[static_cast<std::size_t>(i)];
    const Result<int> part = append_copy(node, builder, value, copy);
    if (!part) return part.error();
    builder.name(node.proto.output(i), *part);
    copy.first += copy.count;
  }
  return {};
}

}  // namespace

Result<Integers> sizes_of_split(const OnnxNode& node, const OnnxBuilder& builder, std::int64_t n) {
  const std::int64_t parts = node.proto.output_size();
  Result<Integers> sizes = node.attributes.integers("split");
  if (!sizes) return sizes;
  if (builder.opset() >= opset_of_input && OnnxBuilder::has_input(node.proto, 1)) {
    const onnx::TensorProto* tensor = builder.constant(node.proto, 1);
    if (tensor == nullptr) return unsupported("its sizes are computed; only constants are supported");
    sizes = integers_of(*tensor);
    if (!sizes) return sizes;
  } else if (sizes->empty()) {
    return parts > 0 && parts <= n ? equal_parts(n, parts)
                                   : Result<Integers>(corrupt("has more outputs than there are channels or voxels"));
  }
  std::int64_t sum = 0;
  for (const std::int64_t size : *sizes) sum = size < 1 ? saturated : add(sum, size);
  if (static_cast<std::int64_t>(sizes->size()) == parts && sum == n) return sizes;
  return corrupt("has " + std::to_string(sizes->size()) + " sizes for " + std::to_string(parts) + " outputs, and " +
                 std::to_string(n) + " channels or voxels; one above 0 for each output is right, " + std::to_string(n) +
                 " in all");
}

Result<int> append_copy(const OnnxNode& node, OnnxBuilder& builder, int value, const ChannelCopy& copy,
                        const Border& pads) {
  const std::int64_t f = builder.channels(value);
  const std::int64_t f_out = add(add(copy.zeros_before, copy.count), copy.zeros_behind);
  const bool depthwise = copy.count == f && f_out == f;
  const std::int64_t numbers = depthwise ? f : mul(f, f_out);
  if (numbers > builder.room()) {
    return unsupported("copies channels by " + std::to_string(numbers) +
                       " parameters, which is more than is plausible for a file of this size");
  }
  Convolution conv;
  conv.f_out = f_out;
  conv.groups = depthwise ? f : 1;
  NodeWeights weights;
  weights.kernels = kernels_of(copy, f, f_out, depthwise);
  return builder.append_part(node.proto, conv, value, f_out, std::move(weights), pads);
}

Result<void> convert_split(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<TurnedValue> turned = turned_at(node, builder);
  if (!turned) return turned.error();
  const Result<std::int64_t> axis = node.attributes.integer("axis", 0);
  if (!axis) return axis.error();
  const std::int64_t place = *axis < 0 ? *axis + std::ssize(turned->axes) : *axis;
  const bool is_axis = place >= 0 && place < std::ssize(turned->axes);
  const int split = is_axis ? turned->axes[static_cast<std::size_t>(place)] : 0;
  if (split > 1 && !builder.is_guessed(turned->value)) {
    return split_planes(node, builder, *turned, static_cast<int>(place));
  }
  if (builder.is_guessed(turned->value)) {
    builder.guess(node.proto);
    return {};
  }
  if (split != 1 || turned->axes != axes_in_order(builder.rank())) {
    return unsupported("axis = " + std::to_string(*axis) +
                       " is not supported; only 1, the channels, or single voxels " + "of space");
  }
  return split_channels_of(node, builder, turned->value);
}

}  // namespace znni
