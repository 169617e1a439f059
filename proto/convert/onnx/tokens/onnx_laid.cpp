#include "proto/convert/onnx/tokens/onnx_laid.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

// Returns the extents of the value, [N][f][spatial...]; nothing if an axis is open.
std::optional<AxisLayout> layout_of(const OnnxBuilder& builder, int value) {
  Vec3 n = Vec3::cube(1);
  for (int axis = 3 - builder.rank(); axis < 3; ++axis) {
    const std::optional<VolumeNumber> extent = extent_along(builder.extents(value), axis);
    if (!extent || !is_constant(*extent) || extent->least < 1) return std::nullopt;
    n[axis] = extent->least;
  }
  return layout_of_value(value, builder.batch(), builder.channels(value), n, builder.rank());
}

std::optional<AxisLayout> layout_of(const OnnxBuilder& builder, const TurnedValue& turned) {
  const std::optional<AxisLayout> own = layout_of(builder, turned.value);
  if (!own) return std::nullopt;
  AxisLayout layout{turned.value, 0, {}};
  for (const int axis : turned.axes) {
    if (axis < -1) return std::nullopt;  // copies
    layout.axes.push_back(axis < 0 ? LayoutAxis() : own->axes[static_cast<std::size_t>(axis)]);
  }
  return layout;
}

std::optional<AxisLayout> layout_of(const OnnxBuilder& builder, const GroupedValue& grouped) {
  const std::optional<AxisLayout> own = layout_of(builder, grouped.value);
  if (!own) return std::nullopt;
  std::vector<std::int64_t> extents = extents_of(*own);
  const std::int64_t all = std::accumulate(extents.begin() + 1, extents.end(), std::int64_t{1}, mul);
  return regrouped(*own, {extents.front(), grouped.groups, all / grouped.groups});
}

std::vector<std::int64_t> counted(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// Returns the rows of these channels, of numbers that are [channels][...]; none of none.
std::vector<float> rows_of(const std::vector<float>& numbers, std::int64_t all,
                           const std::vector<std::int64_t>& channels) {
  std::vector<float> rows;
  const std::size_t length = numbers.size() / static_cast<std::size_t>(all);
  for (const std::int64_t channel : channels) {
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(channel) * length);
    rows.insert(rows.end(), first, first + static_cast<std::ptrdiff_t>(length));
  }
  return rows;
}

// Returns the value of a copy of these channels, by a convolution of one voxel.
Result<int> copied(const OnnxNode& node, OnnxBuilder& builder, int value, const std::vector<std::int64_t>& channels) {
  const std::int64_t f = builder.channels(value);
  const std::int64_t numbers = mul(f, std::ssize(channels));
  if (numbers > builder.room()) {
    return unsupported("takes channels apart by " + std::to_string(numbers) +
                       " parameters, which is more than is plausible for a file of this size");
  }
  NodeWeights weights;
  weights.kernels.assign(static_cast<std::size_t>(numbers), 0.0F);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    weights.kernels[i * static_cast<std::size_t>(f) + static_cast<std::size_t>(channels[i])] = 1.0F;
  }
  Convolution conv;
  conv.f_out = std::ssize(channels);
  return builder.append_part(node.proto, conv, value, conv.f_out, std::move(weights));
}

}  // namespace

Result<AxisLayout> layout_at(const OnnxNode& node, const OnnxBuilder& builder, int index) {
  const std::string name = OnnxBuilder::has_input(node.proto, index) ? node.proto.input(index) : "";
  if (const AxisLayout* laid = builder.tokens().laid(name)) return *laid;
  std::optional<AxisLayout> layout;
  if (const GroupedValue* grouped = builder.grouped(name)) {
    layout = layout_of(builder, *grouped);
  } else if (const TurnedValue* turned = builder.turned(name)) {
    layout = layout_of(builder, *turned);
  } else {
    const Result<int> value = builder.value(node.proto, index);
    if (!value) return value.error();
    if (builder.pooled_axes(name) == 0 && builder.flat(name) == nullptr) layout = layout_of(builder, *value);
  }
  if (layout) return *std::move(layout);
  return unsupported("makes tokens of voxels whose extents the file leaves open; export with static axes");
}

bool reads_guessed_value(const OnnxNode& node, const OnnxBuilder& builder) {
  return std::any_of(node.proto.input().begin(), node.proto.input().end(), [&](const std::string& input) {
    const TurnedValue* turned = builder.turned(input);
    const GroupedValue* grouped = builder.grouped(input);
    const int value = turned != nullptr ? turned->value : grouped != nullptr ? grouped->value : builder.value_of(input);
    return value >= 0 && builder.is_guessed(value);
  });
}

void keep_layout(const std::string& tensor, OnnxBuilder& builder, AxisLayout layout) {
  const std::optional<AxisLayout> in_order = layout_of(builder, layout.value);
  if (in_order && *in_order == layout) return builder.name(tensor, layout.value);
  std::vector<int> axes = axes_in_order(builder.rank());
  std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  const std::optional<AxisLayout> last = layout_of(builder, TurnedValue{layout.value, axes});
  if (!last || *last != layout) return builder.tokens().lay(tensor, std::move(layout));
  onnx::NodeProto node;
  node.add_output(tensor);
  builder.turn(node, {layout.value, std::move(axes)});
}

Result<std::size_t> place_of_axis(std::int64_t axis, std::size_t count) {
  const std::int64_t place = axis < 0 ? axis + static_cast<std::int64_t>(count) : axis;
  if (place >= 0 && place < static_cast<std::int64_t>(count)) return static_cast<std::size_t>(place);
  return corrupt("names axis " + std::to_string(axis) + " of a tensor with " + std::to_string(count) + " axes");
}

Result<int> selected(const OnnxNode& node, OnnxBuilder& builder, int value, const std::vector<std::int64_t>& channels) {
  const std::int64_t f = builder.channels(value);
  if (channels == counted(0, f)) return value;
  if (value == 0) return copied(node, builder, value, channels);
  const auto number = static_cast<std::size_t>(value) - 1;
  const Node writer = builder.network().nodes[number];
  const NodeWeights weights = builder.weights()[number];
  if (std::holds_alternative<ScaleShift>(writer.operation)) {
    const Result<int> before = selected(node, builder, writer.inputs.front(), channels);
    if (!before) return before;
    NodeWeights own{{}, {}, rows_of(weights.scale, f, channels), rows_of(weights.shift, f, channels)};
    return builder.append_part(node.proto, ScaleShift{}, *before, std::ssize(channels), std::move(own));
  }
  const auto* conv = std::get_if<Convolution>(&writer.operation);
  if (conv == nullptr || conv->groups != 1 || writer.inputs.size() != 1) return copied(node, builder, value, channels);
  Convolution own_conv = *conv;
  own_conv.f_out = std::ssize(channels);
  NodeWeights own{rows_of(weights.kernels, f, channels), rows_of(weights.bias, f, channels), {}, {}};
  return builder.append_part(node.proto, own_conv, writer.inputs.front(), own_conv.f_out, std::move(own),
                             Border(builder.pads()[number]));
}

Result<AxisLayout> with_whole_channels(const OnnxNode& node, OnnxBuilder& builder, const AxisLayout& layout) {
  const std::int64_t count = layout.axes.empty() ? 0 : extent_of(layout.axes.back());
  bool suits = count > 0 && layout.axes.back() == axis_of_channels(count);
  for (std::size_t axis = 0; axis + 1 < layout.axes.size(); ++axis) {
    suits = suits && std::all_of(layout.axes[axis].begin(), layout.axes[axis].end(),
                                 [](const LayoutPart& part) { return part.channel_step == 0; });
  }
  if (!suits) return unsupported("of a tensor whose last axis is not that of the channels is not supported");
  const Result<int> value = selected(node, builder, layout.value, counted(layout.first_channel, count));
  if (!value) return value.error();
  return AxisLayout{*value, 0, layout.axes};
}

}  // namespace znni
