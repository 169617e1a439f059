#include "proto/convert/onnx/operators/onnx_layer_norm.hpp"

#include <cmath>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_softmax.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

constexpr int scale_input = 1;
constexpr int shift_input = 2;

// A tensor whose channels are normalised.
struct Normalised {
  int value = 0;
  std::vector<int> axes;  // of a tensor whose axes are in another order; else none
};

// Returns the place of an axis of the tensor's.
std::int64_t place_of(const TurnedValue& turned, std::int64_t axis) {
  return axis < 0 ? axis + static_cast<std::int64_t>(turned.axes.size()) : axis;
}

bool is_of_channels(const TurnedValue& turned, std::int64_t axis) {
  const std::int64_t place = place_of(turned, axis);
  const auto count = static_cast<std::int64_t>(turned.axes.size());
  return place >= 0 && place < count && turned.axes[static_cast<std::size_t>(place)] == 1;
}

Error wrong_axis(std::int64_t axis) {
  return unsupported("from axis = " + std::to_string(axis) +
                     " on is not supported; only of the channels alone, where they are the last axis");
}

// Returns what a LayerNormalization from `axis` on normalises, if that is the channels alone.
Result<Normalised> normalised_at(const OnnxNode& node, const OnnxBuilder& builder, std::int64_t axis) {
  const std::string& input = node.proto.input(0);
  if (const TurnedValue* turned = builder.turned(input)) {
    const bool is_last = place_of(*turned, axis) == std::ssize(turned->axes) - 1;
    if (is_last && is_of_channels(*turned, axis)) return Normalised{turned->value, turned->axes};
    return wrong_axis(axis);
  }
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  const bool has_one_voxel = builder.pooled_axes(input) > 0;
  const bool is_alone = has_one_voxel && is_channel_axis(axis, builder.spatial_axes(input));
  return is_alone || builder.is_guessed(*value) ? Result<Normalised>(Normalised{*value, {}}) : wrong_axis(axis);
}

// Fails if the node writes its means or deviations, too.
Result<void> check_one_output(const onnx::NodeProto& node) {
  for (int i = 1; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    return unsupported("writes its statistics, " + in_quotes(node.output(i)) + ", which is not supported");
  }
  return {};
}

// Returns a constant input of one number per channel, which are along its last axis.
Result<std::vector<float>> channels_at(const OnnxNode& node, const OnnxBuilder& builder, int input, std::int64_t f) {
  const onnx::TensorProto* constant = builder.constant(node.proto, input);
  const Result<std::vector<std::int64_t>> dims = constant == nullptr ? std::vector<std::int64_t>{} : dims_of(*constant);
  if (!dims) return dims.error();
  const bool suits =
      dims->empty() || std::all_of(dims->begin(), dims->end() - 1, [](auto extent) { return extent == 1; });
  if (suits) return builder.vector(node.proto, input, f);
  return unsupported("constant " + in_quotes(node.proto.input(input)) +
                     " has other axes than the last, which is that of the channels");
}

Result<NodeWeights> weights_of(const OnnxNode& node, const OnnxBuilder& builder, std::int64_t f) {
  NodeWeights weights;
  Result<std::vector<float>> scale = channels_at(node, builder, scale_input, f);
  if (!scale) return scale.error();
  weights.scale = *std::move(scale);
  weights.shift.assign(weights.scale.size(), 0.0F);
  if (!OnnxBuilder::has_input(node.proto, shift_input)) return weights;
  Result<std::vector<float>> shift = channels_at(node, builder, shift_input, f);
  if (!shift) return shift.error();
  weights.shift = *std::move(shift);
  return weights;
}

// Makes what the last node wrote the node's output, with the axes of the input.
void keep_axes(const onnx::NodeProto& node, OnnxBuilder& builder, std::vector<int> axes) {
  if (!axes.empty()) builder.turn(node, {static_cast<int>(builder.network().nodes.size()), std::move(axes)});
}

Operation norm_of(float epsilon) { return AcrossChannels{AcrossKind::norm, epsilon}; }

}  // namespace

Result<void> convert_layer_normalization(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<std::int64_t> axis = node.attributes.integer("axis", -1);
  if (!axis) return axis.error();
  const Result<float> epsilon = node.attributes.real("epsilon", 1e-5F);
  if (!epsilon) return epsilon.error();
  if (!std::isfinite(*epsilon) || *epsilon <= 0) {
    return unsupported("epsilon = " + std::to_string(*epsilon) + " is not supported; a finite number above 0 is");
  }
  if (Result<void> alone = check_one_output(node.proto); !alone) return alone;
  Result<Normalised> input = normalised_at(node, builder, *axis);
  if (!input) return input.error();
  const std::int64_t f = builder.channels(input->value);
  Result<NodeWeights> weights = weights_of(node, builder, f);
  if (!weights) return weights.error();
  const int normal = builder.append_part(node.proto, norm_of(*epsilon), input->value, f);
  builder.append(node.proto, ScaleShift{}, {normal}, f, *std::move(weights));
  keep_axes(node.proto, builder, std::move(input->axes));
  return {};
}

bool is_over_channels(const OnnxWrittenNorm& norm, const OnnxBuilder& builder) {
  if (const TurnedValue* turned = builder.turned(norm.x)) return is_of_channels(*turned, norm.axis);
  const bool is_value = builder.value_of(norm.x) >= 0 && builder.flat(norm.x) == nullptr;
  return is_value && is_channel_axis(norm.axis, builder.spatial_axes(norm.x));
}

void convert_written_norm(const OnnxWrittenNorm& norm, OnnxBuilder& builder) {
  const TurnedValue* turned = builder.turned(norm.x);
  std::vector<int> axes = turned == nullptr ? std::vector<int>() : turned->axes;
  const int value = turned == nullptr ? builder.value_of(norm.x) : turned->value;
  builder.append(*norm.last, norm_of(norm.epsilon), {value}, builder.channels(value));
  keep_axes(*norm.last, builder, std::move(axes));
  if (const int pooled = builder.pooled_axes(norm.x); pooled > 0) builder.note_pooled(*norm.last, pooled);
}

}  // namespace znni
