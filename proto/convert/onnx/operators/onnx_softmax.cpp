#include "proto/convert/onnx/operators/onnx_softmax.hpp"

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_inputs.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

constexpr std::int64_t opset_without_flattening = 13;

Error wrong_axis(std::int64_t axis) {
  return unsupported("axis = " + std::to_string(axis) + " is not supported; only 1, the channels");
}

// Converts the node of a transposed tensor. The result stays transposed.
Result<void> convert_turned(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& turned, std::int64_t axis,
                            AcrossKind kind) {
  const auto axes = static_cast<std::int64_t>(turned.axes.size());
  const std::int64_t found = axis < 0 ? axis + axes : axis;
  const bool over_channels = found >= 0 && found < axes && turned.axes[static_cast<std::size_t>(found)] == 1;
  const bool alone = found == axes - 1 || builder.opset() >= opset_without_flattening;
  if (!over_channels || !alone) return wrong_axis(axis).within("transposed input");
  const TurnedValue input = turned;  // append() may move what `turned` refers to
  builder.append(node.proto, AcrossChannels{kind}, {input.value}, builder.channels(input.value));
  builder.turn(node.proto, {builder.value_of(node.proto.output(0)), input.axes});
  return {};
}

Result<void> convert_over_axis(const OnnxNode& node, OnnxBuilder& builder, AcrossKind kind) {
  const bool flattens = builder.opset() < opset_without_flattening;
  const Result<std::int64_t> axis = node.attributes.integer("axis", flattens ? 1 : -1);
  if (!axis) return axis.error();
  if (const TurnedValue* turned = builder.turned(node.proto.input(0)))
    return convert_turned(node, builder, *turned, *axis, kind);
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  if (!is_channel_axis(*axis, builder.spatial_axes(node.proto.input(0))) && !builder.is_guessed(*input))
    return wrong_axis(*axis);
  builder.append(node.proto, AcrossChannels{kind}, {*input}, builder.channels(*input));
  if (flattens && builder.pooled_axes(node.proto.input(0)) == 0) builder.note_flattened(node.proto);
  return {};
}

// Returns the node that noted the value as a flattened softmax; nullptr if none did.
const onnx::NodeProto* flattened_at(const OnnxBuilder& builder, int value) {
  for (const OnnxBuilder::Flattened& noted : builder.flattened()) {
    if (noted.value == value) return noted.node;
  }
  return nullptr;
}

}  // namespace

Result<void> convert_softmax(const OnnxNode& node, OnnxBuilder& builder) {
  return convert_over_axis(node, builder, AcrossKind::softmax);
}

Result<void> convert_log_softmax(const OnnxNode& node, OnnxBuilder& builder) {
  return convert_over_axis(node, builder, AcrossKind::log_softmax);
}

Result<void> convert_log(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<TurnedValue> input = turned_at(node, builder);
  if (!input) return input.error();
  const int value = input->value;
  if (builder.is_guessed(value)) {
    builder.guess(node.proto);
    return {};
  }
  const Node* writer = value == 0 ? nullptr : &builder.network().nodes[static_cast<std::size_t>(value) - 1];
  if (writer == nullptr || writer->operation != Operation(AcrossChannels{AcrossKind::softmax})) {
    return unsupported("of something else than a Softmax is not supported");
  }
  const onnx::NodeProto* flattened = flattened_at(builder, value);
  builder.append(node.proto, AcrossChannels{AcrossKind::log_softmax}, std::vector<int>(writer->inputs),
                 builder.channels(value));
  if (flattened != nullptr) builder.note_flattened(*flattened);
  keep_turned(node, builder, {builder.value_of(node.proto.output(0)), input->axes});
  return {};
}

Result<void> check_flattened(const OnnxGraph& graph, const OnnxBuilder& builder) {
  const int rank = builder.rank();
  const Vec3 n = declared_extent(graph, rank);
  const std::vector<Reach> reach = reaches(builder.network());
  for (const auto& [node, value] : builder.flattened()) {
    const Reach& input = reach[static_cast<std::size_t>(value)];
    for (int axis = 3 - rank; axis < 3; ++axis) {
      const bool one_voxel = builder.is_padded()
                                 ? extent_along(builder.extents(value), axis) == VolumeNumber{1, {}}
                                 : n[axis] >= reach.back().fov[axis] && n[axis] < input.fov[axis] + input.stride[axis];
      if (one_voxel) continue;
      return unsupported("in operator set " + std::to_string(graph.opset) +
                         " sums over the voxels as well, unless the net's input has the extent of one window, " +
                         to_string(reach.back().fov) + "; export with operator set 13 or newer")
          .within(called(*node));
    }
  }
  return {};
}

bool is_channel_axis(std::int64_t axis, int spatial_axes) { return axis == 1 || axis == -1 - spatial_axes; }

}  // namespace znni
