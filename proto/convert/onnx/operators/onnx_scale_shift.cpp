#include "proto/convert/onnx/operators/onnx_scale_shift.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/operators/onnx_norm.hpp"

namespace znni {
namespace {

// Inputs 1 to 4 of BatchNormalization, in its order.
struct Statistics {
  std::vector<float> gamma;
  std::vector<float> beta;
  std::vector<float> mean;
  std::vector<float> variance;
};

Result<Statistics> statistics_of(const OnnxNode& node, const OnnxBuilder& builder, std::int64_t f) {
  Statistics result;
  const std::array<std::vector<float>*, 4> parts = {&result.gamma, &result.beta, &result.mean, &result.variance};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Result<std::vector<float>> values = builder.vector(node.proto, static_cast<int>(i) + 1, f);
    if (!values) return values.error();
    f = static_cast<std::int64_t>(values->size());  // of unknown_channels: as many as the first
    *parts[i] = *std::move(values);
  }
  return result;
}

Result<NodeWeights> weights_of(const Statistics& statistics, float epsilon) {
  NodeWeights weights;
  for (std::size_t i = 0; i < statistics.gamma.size(); ++i) {
    const double variance = static_cast<double>(statistics.variance[i]) + static_cast<double>(epsilon);
    if (!(variance > 0)) {
      return corrupt("variance + epsilon of channel " + std::to_string(i) + " is " + std::to_string(variance) +
                     "; a positive number is right");
    }
    const double scale = static_cast<double>(statistics.gamma[i]) / std::sqrt(variance);
    weights.scale.push_back(static_cast<float>(scale));
    weights.shift.push_back(static_cast<float>(statistics.beta[i] - statistics.mean[i] * scale));
  }
  return weights;
}

Result<void> check_spatial(const OnnxNode& node) {
  const Result<std::int64_t> spatial = node.attributes.integer("spatial", 1);
  if (!spatial) return spatial.error();
  if (*spatial != 1) return unsupported("spatial = " + std::to_string(*spatial) + " is not supported; only 1");
  return {};
}

struct Operands {
  TurnedValue of;
  bool constant_first = false;
  std::vector<float> numbers;  // one per channel
};

// Returns whether a constant of these extents is one number, or one for each of `f` along the axis at `place` of
// `axes`.
bool is_per_axis(const std::vector<std::int64_t>& dims, std::int64_t f, std::size_t axes, std::size_t place) {
  if (dims.size() > axes) return false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool is_channels = axes - dims.size() + i == place;
    if (dims[i] != 1 && !(is_channels && (f == unknown_channels || dims[i] == f))) return false;
  }
  return true;
}

std::size_t place_of_channels(const TurnedValue& turned) {
  return static_cast<std::size_t>(std::find(turned.axes.begin(), turned.axes.end(), 1) - turned.axes.begin());
}

// Returns the tensor at an input: without axes, if these are in order.
Result<TurnedValue> tensor_at(const OnnxNode& node, const OnnxBuilder& builder, int index) {
  if (const TurnedValue* turned = builder.turned(node.proto.input(index))) return *turned;
  const Result<int> value = builder.value(node.proto, index);
  return value ? Result<TurnedValue>(TurnedValue{*value, {}}) : value.error();
}

Result<Operands> operands_of(const OnnxNode& node, const OnnxBuilder& builder) {
  const int index = builder.constant(node.proto, 1) != nullptr ? 1 : 0;
  const onnx::TensorProto* constant = builder.constant(node.proto, index);
  if (constant == nullptr) return unsupported("of two computed tensors is not supported; only of one and a constant");
  Result<TurnedValue> tensor = tensor_at(node, builder, 1 - index);
  if (!tensor) return tensor.error();
  const Result<std::vector<std::int64_t>> dims = dims_of(*constant);
  if (!dims) return dims.error();
  const std::int64_t f = builder.channels(tensor->value);
  const bool suits = tensor->axes.empty() ? is_per_channel(*dims, f, builder.spatial_axes(node.proto.input(1 - index)))
                                          : is_per_axis(*dims, f, tensor->axes.size(), place_of_channels(*tensor));
  if (!suits) {
    return unsupported("constant " + in_quotes(node.proto.input(index)) +
                       " is neither one number nor one per channel (" + std::to_string(f) +
                       "), which is not supported");
  }
  Result<std::vector<float>> numbers = builder.floats_of(*constant);
  if (!numbers) return numbers.error();
  if (numbers->size() == 1) numbers->resize(static_cast<std::size_t>(f), numbers->front());
  return Operands{*std::move(tensor), index == 0, *std::move(numbers)};
}

void turn_as(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& input) {
  if (!input.axes.empty()) builder.turn(node.proto, {builder.value_of(node.proto.output(0)), input.axes});
}

void append(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& input, NodeWeights weights) {
  builder.append(node.proto, ScaleShift{}, {input.value}, builder.channels(input.value), std::move(weights));
  turn_as(node, builder, input);
}

std::size_t channels_of(const OnnxBuilder& builder, const TurnedValue& tensor) {
  return static_cast<std::size_t>(std::max<std::int64_t>(builder.channels(tensor.value), 0));
}

// Divides numbers, one per channel, by the tensor. They are the tensor scaled by 0 and shifted.
void append_quotient(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& by, std::vector<float> numbers) {
  NodeWeights weights;
  weights.scale.assign(numbers.size(), 0.0F);
  weights.shift = std::move(numbers);
  const std::int64_t f = builder.channels(by.value);
  const int dividend = builder.append_part(node.proto, ScaleShift{}, by.value, f, std::move(weights));
  builder.append(node.proto, Divide{}, {dividend, by.value}, f);
  turn_as(node, builder, by);
}

}  // namespace

bool is_per_channel(const std::vector<std::int64_t>& dims, std::int64_t f, int spatial_axes) {
  return is_per_axis(dims, f, static_cast<std::size_t>(spatial_axes) + 2, 1);
}

Result<NodeWeights> batch_normalization_of(const OnnxNode& node, const OnnxBuilder& builder, std::int64_t count) {
  const Result<bool> trains = is_in_training(node, builder);
  if (!trains) return trains.error();
  if (*trains) {
    return unsupported(
        "normalises by the statistics of its input (training mode), which is not supported here; export the net in "
        "evaluation mode");
  }
  const Result<float> epsilon = node.attributes.real("epsilon", 1e-5F);
  if (!epsilon) return epsilon.error();
  const Result<Statistics> statistics = statistics_of(node, builder, count);
  return statistics ? weights_of(*statistics, *epsilon) : statistics.error();
}

Result<void> convert_batch_normalization(const OnnxNode& node, OnnxBuilder& builder) {
  if (Result<void> sound = check_spatial(node); !sound) return sound;
  const Result<bool> trains = is_in_training(node, builder);
  if (!trains) return trains.error();
  if (*trains) return convert_normalization_in_training(node, builder);
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  Result<NodeWeights> weights = batch_normalization_of(node, builder, builder.channels(*input));
  if (!weights) return weights.error();
  append(node, builder, TurnedValue{*input, {}}, *std::move(weights));
  return {};
}

Result<void> convert_mul_by_constant(const OnnxNode& node, OnnxBuilder& builder) {
  Result<Operands> operands = operands_of(node, builder);
  if (!operands) return operands.error();
  NodeWeights weights;
  weights.shift.assign(operands->numbers.size(), 0.0F);
  weights.scale = std::move(operands->numbers);
  append(node, builder, operands->of, std::move(weights));
  return {};
}

Result<void> convert_div_by_constant(const OnnxNode& node, OnnxBuilder& builder) {
  Result<Operands> operands = operands_of(node, builder);
  if (!operands) return operands.error();
  NodeWeights weights;
  for (const float divisor : operands->numbers) {
    if (divisor == 0) return corrupt("by 0");
    weights.scale.push_back(1 / divisor);
  }
  weights.shift.assign(operands->numbers.size(), 0.0F);
  append(node, builder, operands->of, std::move(weights));
  return {};
}

Result<void> convert_div_of_constant(const OnnxNode& node, OnnxBuilder& builder) {
  Result<Operands> operands = operands_of(node, builder);
  if (!operands) return operands.error();
  append_quotient(node, builder, operands->of, std::move(operands->numbers));
  return {};
}

Result<void> convert_reciprocal(const OnnxNode& node, OnnxBuilder& builder) {
  Result<TurnedValue> tensor = tensor_at(node, builder, 0);
  if (!tensor) return tensor.error();
  append_quotient(node, builder, *tensor, std::vector<float>(channels_of(builder, *tensor), 1.0F));
  return {};
}

Result<void> convert_sub_of_constant(const OnnxNode& node, OnnxBuilder& builder) {
  Result<Operands> operands = operands_of(node, builder);
  if (!operands) return operands.error();
  NodeWeights weights;
  weights.scale.assign(operands->numbers.size(), operands->constant_first ? -1.0F : 1.0F);
  weights.shift = std::move(operands->numbers);
  if (!operands->constant_first) {
    for (float& shift : weights.shift) shift = -shift;
  }
  append(node, builder, operands->of, std::move(weights));
  return {};
}

Result<void> convert_add_of_constant(const OnnxNode& node, OnnxBuilder& builder) {
  Result<Operands> operands = operands_of(node, builder);
  if (!operands) return operands.error();
  NodeWeights weights;
  weights.scale.assign(operands->numbers.size(), 1.0F);
  weights.shift = std::move(operands->numbers);
  append(node, builder, operands->of, std::move(weights));
  return {};
}

int append_negative(const OnnxNode& node, OnnxBuilder& builder, int value) {
  const std::int64_t channels = builder.channels(value);
  NodeWeights weights;
  weights.scale.assign(static_cast<std::size_t>(channels), -1.0F);
  weights.shift.assign(static_cast<std::size_t>(channels), 0.0F);
  return builder.append_part(node.proto, ScaleShift{}, value, channels, std::move(weights));
}

}  // namespace znni
