#include "proto/convert/onnx/operators/onnx_join.hpp"

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/operators/onnx_planes.hpp"
#include "proto/convert/onnx/operators/onnx_scale_shift.hpp"
#include "proto/convert/onnx/operators/onnx_softmax.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

Result<std::vector<int>> inputs_of(const OnnxNode& node, const OnnxBuilder& builder) {
  std::vector<int> inputs;
  for (int i = 0; i < node.proto.input_size(); ++i) {
    const Result<int> input = builder.value(node.proto, i);
    if (!input) return input.error();
    inputs.push_back(*input);
  }
  return inputs;
}

bool has_constant(const OnnxNode& node, const OnnxBuilder& builder) {
  return builder.constant(node.proto, 0) != nullptr || builder.constant(node.proto, 1) != nullptr;
}

// Returns whether Dropout may drop values: true unless input 2, training_mode, is absent or a constant false.
bool may_train(const OnnxNode& node, const OnnxBuilder& builder) {
  constexpr int training_mode = 2;
  if (!OnnxBuilder::has_input(node.proto, training_mode)) return false;
  const onnx::TensorProto* mode = builder.constant(node.proto, training_mode);
  if (mode == nullptr) return true;
  const bool raw_false = mode->has_raw_data() && mode->raw_data() == std::string(1, '\0');
  const bool field_false = mode->int32_data_size() == 1 && mode->int32_data(0) == 0;
  return !raw_false && !field_false;
}

// Returns how many numbers, from 0 on, a type of whole numbers holds, as far as that matters; 0 for any other type.
std::int64_t count_of_type(std::int64_t type) {
  switch (type) {
    case onnx::TensorProto::INT8: return 1 << 7;
    case onnx::TensorProto::UINT8: return 1 << 8;
    case onnx::TensorProto::INT16: return 1 << 15;
    case onnx::TensorProto::UINT16: return 1 << 16;
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64: return max_onnx_channels;
    default: return 0;
  }
}

}  // namespace

Result<void> convert_add(const OnnxNode& node, OnnxBuilder& builder) {
  if (has_constant(node, builder)) return convert_add_of_constant(node, builder);
  Result<std::vector<int>> inputs = inputs_of(node, builder);
  if (!inputs) return inputs.error();
  const std::int64_t channels = builder.channels(inputs->front());
  builder.append(node.proto, Add{}, *std::move(inputs), channels);
  return {};
}

Result<void> convert_sub(const OnnxNode& node, OnnxBuilder& builder) {
  if (has_constant(node, builder)) return convert_sub_of_constant(node, builder);
  Result<std::vector<int>> inputs = inputs_of(node, builder);
  if (!inputs) return inputs.error();
  inputs->back() = append_negative(node, builder, inputs->back());
  const std::int64_t sum_channels = builder.channels(inputs->front());
  builder.append(node.proto, Add{}, *std::move(inputs), sum_channels);
  return {};
}

Result<void> convert_mul(const OnnxNode& node, OnnxBuilder& builder) {
  if (has_constant(node, builder)) return convert_mul_by_constant(node, builder);
  Result<std::vector<int>> inputs = inputs_of(node, builder);
  if (!inputs) return inputs.error();
  if (builder.channels(inputs->front()) == 1) std::swap(inputs->front(), inputs->back());
  const std::int64_t f = builder.channels(inputs->front());
  const std::int64_t other = builder.channels(inputs->back());
  const bool are_known = f != unknown_channels && other != unknown_channels;
  if (are_known && f != other && other != 1) {
    return corrupt("multiplies " + std::to_string(f) + " channels by " + std::to_string(other) +
                   "; as many, or 1, are right");
  }
  builder.append(node.proto, Multiply{}, *std::move(inputs), are_known ? f : unknown_channels);
  return {};
}

Result<void> convert_div(const OnnxNode& node, OnnxBuilder& builder) {
  if (builder.constant(node.proto, 1) != nullptr) return convert_div_by_constant(node, builder);
  if (builder.constant(node.proto, 0) != nullptr) return convert_div_of_constant(node, builder);
  Result<std::vector<int>> inputs = inputs_of(node, builder);
  if (!inputs) return inputs.error();
  const std::int64_t f = builder.channels(inputs->front());
  const std::int64_t other = builder.channels(inputs->back());
  const bool are_known = f != unknown_channels && other != unknown_channels;
  if (are_known && f != other && other != 1) {
    return unsupported("divides " + std::to_string(f) + " channels by " + std::to_string(other) +
                       ", which is not supported; only as many, or 1");
  }
  builder.append(node.proto, Divide{}, *std::move(inputs), f);
  return {};
}

Result<void> convert_concat(const OnnxNode& node, OnnxBuilder& builder) {
  if (node.attributes.find("axis") == nullptr) return corrupt("attribute 'axis' is missing");
  const Result<std::int64_t> axis = node.attributes.integer("axis", 1);
  if (!axis) return axis.error();
  if (OnnxBuilder::has_input(node.proto, 0) && builder.plane(node.proto.input(0)) != nullptr) {
    return join_planes(node, builder, *axis);
  }
  if (!is_channel_axis(*axis, builder.spatial_axes(node.proto.input(0)))) {
    return unsupported("axis = " + std::to_string(*axis) + " is not supported; only 1, the channels");
  }
  Result<std::vector<int>> inputs = inputs_of(node, builder);
  if (!inputs) return inputs.error();
  if (inputs->size() == 1) return convert_identity(node, builder);
  if (builder.are_all_inputs(*inputs)) {
    builder.alias(node.proto, 0);
    return {};
  }
  std::int64_t channels = 0;
  bool is_known = true;
  for (const int input : *inputs) {
    channels = add(channels, builder.channels(input));
    is_known = is_known && builder.channels(input) != unknown_channels;
  }
  builder.append(node.proto, Concat{}, *std::move(inputs), is_known ? channels : unknown_channels);
  return {};
}

Result<void> convert_identity(const OnnxNode& node, OnnxBuilder& builder) {
  Result<TurnedValue> input = turned_at(node, builder);
  if (!input) return input.error();
  keep_turned(node, builder, *std::move(input));
  return {};
}

Result<void> convert_cast(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<std::int64_t> to = node.attributes.integer("to", onnx::TensorProto::UNDEFINED);
  if (!to) return to.error();
  const bool real = *to == onnx::TensorProto::FLOAT || *to == onnx::TensorProto::FLOAT16 ||
                    *to == onnx::TensorProto::DOUBLE || *to == onnx::TensorProto::BFLOAT16;
  if (real) return convert_identity(node, builder);
  const std::int64_t count = builder.whole(node.proto.input(0));
  if (count > 0 && count <= count_of_type(*to)) {
    builder.note_whole(node.proto.output(0), count);
    return convert_identity(node, builder);
  }
  if (count > 0) {
    return unsupported("of the numbers of " + std::to_string(count) + " channels to type number " +
                       std::to_string(*to) +
                       " is not supported; only to floating point and to whole numbers that hold all of them");
  }
  return unsupported("to elements of type number " + std::to_string(*to) +
                     " is not supported; only to floating point, in which the net is computed anyway");
}

Result<void> convert_dropout(const OnnxNode& node, OnnxBuilder& builder) {
  if (may_train(node, builder)) return unsupported("drops (training mode), which is not supported");
  return convert_identity(node, builder);
}

}  // namespace znni
