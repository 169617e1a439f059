#include "proto/convert/onnx/operators/onnx_arg_max.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_softmax.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

using Names = std::string_view;

// Operators that may read numbers of channels.
constexpr std::array<Names, 8> keep_whole = {"Cast",  "Concat",  "Identity",  "Reshape",
                                             "Shape", "Squeeze", "Transpose", "Unsqueeze"};
// Operators that may read them from a tensor that may lack the axis of its channel.
constexpr std::array<Names, 3> keep_whole_pooled = {"Cast", "Concat", "Identity"};

bool is_one_of(const onnx::NodeProto& node, std::span<const Names> names) {
  return std::any_of(names.begin(), names.end(), [&](Names name) { return is_operator(node, name); });
}

// Returns the place of the axis among those of the tensor; an error unless it is that of the channels.
Result<std::size_t> place_of_channels(const TurnedValue& input, std::int64_t axis) {
  const auto count = static_cast<std::int64_t>(input.axes.size());
  const std::int64_t place = axis < 0 ? axis + count : axis;
  const bool over_channels = place >= 0 && place < count && input.axes[static_cast<std::size_t>(place)] == 1;
  if (over_channels) return static_cast<std::size_t>(place);
  return unsupported("axis = " + std::to_string(axis) + " is not supported; only that of the channels");
}

// Converts an ArgMax of the channels of one voxel.
Result<void> convert_pooled(const OnnxNode& node, OnnxBuilder& builder, std::int64_t axis, AcrossKind kind) {
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  if (!is_channel_axis(axis, builder.spatial_axes(node.proto.input(0)))) {
    return unsupported("axis = " + std::to_string(axis) + " is not supported; only 1, the channels");
  }
  builder.append(node.proto, AcrossChannels{kind}, {*value}, 1);
  return {};
}

Result<void> convert_voxels(const OnnxNode& node, OnnxBuilder& builder, std::int64_t axis, AcrossKind kind) {
  Result<TurnedValue> input = turned_at(node, builder);
  if (!input) return input.error();
  const bool is_guessed = builder.is_guessed(input->value);
  const Result<std::size_t> place = place_of_channels(*input, axis);
  if (!place && !is_guessed) return place.error();
  const Result<std::int64_t> keeps = node.attributes.integer("keepdims", 1);
  if (!keeps) return keeps.error();
  builder.append(node.proto, AcrossChannels{kind}, {input->value}, 1);
  if (place && *keeps == 0) input->axes.erase(input->axes.begin() + static_cast<std::ptrdiff_t>(*place));
  keep_turned(node, builder, {builder.value_of(node.proto.output(0)), std::move(input->axes)});
  return {};
}

}  // namespace

Result<void> convert_arg_max(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<std::int64_t> axis = node.attributes.integer("axis", 0);
  if (!axis) return axis.error();
  const Result<std::int64_t> last = node.attributes.integer("select_last_index", 0);
  if (!last) return last.error();
  const AcrossKind kind = *last == 0 ? AcrossKind::arg_max : AcrossKind::arg_max_last;
  const std::string& input = node.proto.input(0);
  const Result<void> converted = builder.pooled_axes(input) > 0 ? convert_pooled(node, builder, *axis, kind)
                                                                : convert_voxels(node, builder, *axis, kind);
  if (!converted) return converted;
  const int made = static_cast<int>(builder.network().nodes.size());
  const int read = builder.network().nodes.back().inputs.front();
  builder.note_whole(node.proto.output(0), builder.is_guessed(made) ? 1 : builder.channels(read));
  return {};
}

bool reads_whole(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  return std::any_of(node.input().begin(), node.input().end(),
                     [&](const std::string& input) { return builder.whole(input) > 0; });
}

Result<void> check_keeps_whole(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  const bool is_pooled = std::any_of(node.input().begin(), node.input().end(),
                                     [&](const std::string& input) { return builder.pooled_axes(input) > 0; });
  const std::span<const Names> known = is_pooled ? std::span<const Names>(keep_whole_pooled) : keep_whole;
  if (is_one_of(node, known)) return {};
  return unsupported(
      "its input is whole numbers, as ArgMax writes them, which is not supported here; only a Cast and changes of axes "
      "may read them");
}

void note_whole_outputs(const onnx::NodeProto& node, OnnxBuilder& builder) {
  if (is_operator(node, "Cast") || is_operator(node, "Shape")) return;
  std::int64_t most = 0;
  for (const std::string& input : node.input()) most = std::max(most, builder.whole(input));
  for (const std::string& output : node.output()) builder.note_whole(output, most);
}

}  // namespace znni
