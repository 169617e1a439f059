#include "proto/convert/onnx/operators/onnx_lengths.hpp"

#include <limits>
#include <set>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

constexpr int channel_axis = 1;
// The least length that is divided by: voxels of zeros stay zeros, as in ONNX Runtime.
constexpr float min_length = std::numeric_limits<float>::min();

// Returns the axis of a value's [N][f][spatial...] that an axis of the tensor is; -1 if it is none.
int axis_of_value(const TurnedValue& turned, std::int64_t axis) {
  const std::int64_t place = axis < 0 ? axis + std::ssize(turned.axes) : axis;
  const bool is_axis = place >= 0 && place < std::ssize(turned.axes);
  return is_axis ? turned.axes[static_cast<std::size_t>(place)] : -1;
}

// Returns the tensor; nothing if it is no value whose voxels stand by themselves.
std::optional<TurnedValue> tensor_of(const std::string& tensor, const OnnxBuilder& builder) {
  if (const TurnedValue* turned = builder.turned(tensor)) return *turned;
  const bool is_plain =
      builder.value_of(tensor) >= 0 && builder.flat(tensor) == nullptr && builder.pooled_axes(tensor) == 0;
  if (!is_plain) return std::nullopt;
  return TurnedValue{builder.value_of(tensor), axes_in_order(builder.rank())};
}

void append_as(const onnx::NodeProto& node, OnnxBuilder& builder, const Operation& operation, TurnedValue of,
               NodeWeights weights = {}) {
  builder.append(node, operation, {of.value}, builder.channels(of.value), std::move(weights));
  if (of.axes == axes_in_order(builder.rank())) return;
  builder.turn(node, {builder.value_of(node.output(0)), std::move(of.axes)});
}

NodeWeights weights_of_one(std::int64_t f) {
  const auto count = static_cast<std::size_t>(f);
  return {{}, {}, std::vector<float>(count, 1.0F), std::vector<float>(count, 0.0F)};
}

}  // namespace

Result<void> convert_lp_normalization(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<std::int64_t> power = node.attributes.integer("p", 2);
  if (!power) return power.error();
  if (*power != 2) return unsupported("p = " + std::to_string(*power) + " is not supported; only 2");
  const Result<std::int64_t> axis = node.attributes.integer("axis", -1);
  if (!axis) return axis.error();
  Result<TurnedValue> input = turned_at(node, builder);
  if (!input) return input.error();
  if (axis_of_value(*input, *axis) != channel_axis && !builder.is_guessed(input->value)) {
    return unsupported("along axis = " + std::to_string(*axis) + " is not supported; only along the channels");
  }
  append_as(node.proto, builder, AcrossChannels{AcrossKind::unit, min_length}, *std::move(input));
  return {};
}

bool is_layer(const OnnxWrittenLength& length, const OnnxBuilder& builder) {
  const std::optional<TurnedValue> of = tensor_of(length.x, builder);
  if (!of) return false;
  std::set<int> axes;
  for (const std::int64_t axis : length.axes) axes.insert(axis_of_value(*of, axis));
  if (length.kind == WrittenLengthKind::unit) return axes == std::set<int>{channel_axis};
  std::set<int> space;
  for (int axis = 0; axis < builder.rank(); ++axis) space.insert(channel_axis + 1 + axis);
  return axes == space && axis_of_value(*of, length.mean_axis) == channel_axis;
}

void convert_written_length(const OnnxWrittenLength& length, OnnxBuilder& builder) {
  TurnedValue of = *tensor_of(length.x, builder);
  if (length.kind == WrittenLengthKind::unit) {
    const float epsilon = length.epsilon > 0 ? length.epsilon : min_length;
    return append_as(*length.last, builder, AcrossChannels{AcrossKind::unit, epsilon}, std::move(of));
  }
  NodeWeights weights = weights_of_one(builder.channels(of.value));
  append_as(*length.last, builder, Norm{1, length.epsilon, {}, NormKind::response}, std::move(of), std::move(weights));
}

}  // namespace znni
