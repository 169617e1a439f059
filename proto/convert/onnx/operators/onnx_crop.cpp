#include "proto/convert/onnx/operators/onnx_crop.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/operators/onnx_channels.hpp"
#include "proto/convert/onnx/operators/onnx_edges.hpp"

namespace znni {
namespace {

using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<VolumeNumber>;

constexpr std::int64_t opset_of_inputs = 10;                      // older sets have attributes instead of inputs
constexpr std::int64_t max_border = std::int64_t{1} << 20;        // upper bound of any net's reach
constexpr std::int64_t to_the_end = (std::int64_t{1} << 31) - 1;  // exporters write this or more for "to the end"
constexpr int channel_axis = 1;

Numbers numbers_from(const Integers& values) {
  Numbers numbers;
  for (const std::int64_t value : values) numbers.push_back({value, {}});
  return numbers;
}

// Returns the numbers at an input of the node; nullopt if the node lacks that input.
Result<std::optional<Numbers>> numbers_at(const OnnxNode& node, const OnnxBuilder& builder, int input,
                                          std::string_view what) {
  if (!OnnxBuilder::has_input(node.proto, input)) return std::optional<Numbers>();
  if (const KnownTensor* known = builder.known().find(node.proto.input(input)); known != nullptr) {
    Result<Numbers> numbers = numbers_of(*known);
    return numbers ? Result<std::optional<Numbers>>(*std::move(numbers)) : numbers.error().within(what);
  }
  const onnx::TensorProto* tensor = builder.constant(node.proto, input);
  if (tensor == nullptr) {
    return unsupported("its " + std::string(what) + " are computed; only constants are supported");
  }
  const Result<Integers> values = integers_of(*tensor);
  if (!values) return values.error();
  return std::optional(numbers_from(*values));
}

// Returns the numbers at an input, which must be the same for all volumes; nullopt if the node lacks that input.
Result<std::optional<Integers>> constants_at(const OnnxNode& node, const OnnxBuilder& builder, int input,
                                             std::string_view what) {
  const Result<std::optional<Numbers>> numbers = numbers_at(node, builder, input, what);
  if (!numbers) return numbers.error();
  if (!*numbers) return std::optional<Integers>();
  Integers values;
  for (const VolumeNumber& number : **numbers) {
    if (!is_constant(number)) {
      return unsupported("its " + std::string(what) + " hold " + to_string(number) + "; only constants are supported");
    }
    values.push_back(number.least);
  }
  return std::optional(std::move(values));
}

// Returns the list called `name`: input `input`, or in old operator sets an attribute. Returns nullopt if the node has
// none.
Result<std::optional<Numbers>> list_of(const OnnxNode& node, const OnnxBuilder& builder, std::string_view name,
                                       int input) {
  if (builder.opset() >= opset_of_inputs) return numbers_at(node, builder, input, name);
  Result<Integers> values = node.attributes.integers(name);
  if (!values) return values.error();
  return node.attributes.find(name) == nullptr ? std::optional<Numbers>() : std::optional(numbers_from(*values));
}

// Range that a Slice keeps of one axis of [N][f][spatial...]: every `step`-th place from the first on.
struct Range {
  int axis = 0;
  VolumeNumber start;
  VolumeNumber end;
  std::int64_t step = 1;
};

std::string text_of(const Range& range) {
  return "[" + to_string(range.start) + ", " + to_string(range.end) + ") of axis " + std::to_string(range.axis);
}

// Returns the axis as an index from 0; negative axes count from the last.
Result<int> axis_of(std::int64_t axis, int axes) {
  if (axis >= -axes && axis < axes) return static_cast<int>(axis < 0 ? axis + axes : axis);
  return corrupt("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(axes) + " axes");
}

Integers first_axes(std::size_t count) {
  Integers axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Result<std::int64_t> step_of(const VolumeNumber& step) {
  constexpr std::int64_t most = 4096;
  if (step == VolumeNumber{}) return corrupt("has a step of 0; 1 or more is right");
  if (is_constant(step) && step.least >= 1 && step.least <= most) return step.least;
  return unsupported("steps of " + to_string(step) + " are not supported; only constants from 1 to " +
                     std::to_string(most));
}

Result<std::vector<Range>> ranges_of(const OnnxNode& node, const OnnxBuilder& builder) {
  constexpr std::array<std::string_view, 4> names = {"starts", "ends", "axes", "steps"};
  std::array<std::optional<Numbers>, names.size()> lists;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Result<std::optional<Numbers>> list = list_of(node, builder, names[i], static_cast<int>(i) + 1);
    if (!list) return list.error();
    lists[i] = *std::move(list);
  }
  const auto& [starts, ends, axes, steps] = lists;
  if (!starts || !ends) return corrupt("starts or ends are missing");
  const Numbers numbers = axes.value_or(numbers_from(first_axes(starts->size())));
  const Numbers strides = steps.value_or(Numbers(starts->size(), VolumeNumber{1, {}}));
  const std::size_t count = starts->size();
  if (ends->size() != count || numbers.size() != count || strides.size() != count) {
    return corrupt("has " + std::to_string(count) + " starts, " + std::to_string(ends->size()) + " ends, " +
                   std::to_string(numbers.size()) + " axes and " + std::to_string(strides.size()) +
                   " steps; as many of each are right");
  }
  std::vector<Range> ranges;
  std::set<int> seen;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_constant(numbers[i])) return unsupported("has axes that depend on the volume's extent");
    const Result<int> axis = axis_of(numbers[i].least, builder.rank() + 2);
    if (!axis) return axis.error();
    if (!seen.insert(*axis).second) return corrupt("axis " + std::to_string(*axis) + " stands twice among its axes");
    const Result<std::int64_t> step = step_of(strides[i]);
    if (!step) return step.error();
    ranges.push_back({*axis, (*starts)[i], (*ends)[i], *step});
  }
  return ranges;
}

// Fails if a range does not keep all of the batch.
Result<void> check_batch(const Range& range, std::int64_t batch) {
  const std::int64_t start = range.start.least;
  const bool begins = (start == 0 || start <= -batch) && range.step == 1;
  if (begins && range.end.least >= batch && is_constant(range.start) && is_constant(range.end)) return {};
  return unsupported("keeps " + text_of(range) + "; the batch can only be kept whole");
}

struct Ends {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

using Extent = std::optional<VolumeNumber>;

// Returns where a bound of a range lies, counted from the begin, before it is cut to [0, n]; nullopt if that is not
// known for all volumes. `n` is the extent, if it is known.
Extent from_begin(const VolumeNumber& bound, const Extent& n) {
  if (is_never_negative(bound)) return bound;
  return n && is_always_negative(bound) ? sum(*n, bound) : std::nullopt;
}

// Returns the number, or 0 if it is below; nullopt if it depends on the volume.
std::optional<std::int64_t> at_least_zero(const Extent& number) {
  if (!number) return std::nullopt;
  if (is_always_negative(*number)) return 0;
  return is_constant(*number) ? std::optional(std::max<std::int64_t>(0, number->least)) : std::nullopt;
}

// Returns the voxels behind the end of a range; nullopt if they depend on the volume.
std::optional<std::int64_t> behind(const VolumeNumber& end, const Extent& n) {
  if (is_constant(end) && end.least >= to_the_end) return 0;
  if (is_constant(end) && end.least < 0) return -std::max(end.least, -max_border - 1);
  const Extent place = from_begin(end, n);
  return n && place ? at_least_zero(difference(*n, *place)) : std::nullopt;
}

// Returns the border that a range removes from an axis of extent `n`.
Result<Ends> border_of(const Range& range, const Extent& n) {
  const std::optional<std::int64_t> begin = at_least_zero(from_begin(range.start, n));
  const std::optional<std::int64_t> end = behind(range.end, n);
  if (!begin || !end) {
    const bool open = !n || !is_constant(*n);
    return unsupported("keeps " + text_of(range) + ", which depends on an extent that " +
                       (open ? "the file leaves open; starts from 0 up and ends below 0 are right"
                             : "is another one than this axis has"));
  }
  const bool nothing_left = n && add(*begin, *end) >= n->least;
  if (nothing_left) {
    return corrupt("keeps " + text_of(range) + ": nothing of " + std::to_string(n->least) + " voxels");
  }
  if (*begin <= max_border && *end <= max_border) return Ends{*begin, *end};
  return unsupported("keeps " + text_of(range) + ": borders of at most " + std::to_string(max_border) +
                     " voxels are supported");
}

Result<void> append_crop(const OnnxNode& node, OnnxBuilder& builder, int input, const Crop& crop) {
  if (crop == Crop{}) {
    builder.alias(node.proto, input);
    return {};
  }
  builder.append(node.proto, crop, {input}, builder.channels(input));
  return {};
}

// Keeps every `steps`-th voxel of what the crop leaves: a pooling of windows of one voxel.
Result<void> append_steps(const OnnxNode& node, OnnxBuilder& builder, int input, const Crop& crop, Vec3 steps) {
  if (steps == Vec3::cube(1)) return append_crop(node, builder, input, crop);
  const std::int64_t f = builder.channels(input);
  const int left = crop == Crop{} ? input : builder.append_part(node.proto, crop, input, f);
  builder.append(node.proto, Pooling{PoolKind::max, Vec3::cube(1), steps}, {left}, f);
  return {};
}

// What a Pad does: takes voxels away, puts others around space, and zeros around channels.
struct Padding {
  Crop crop;
  Border around;
  std::int64_t channels_before = 0;
  std::int64_t channels_behind = 0;

  [[nodiscard]] bool has_any() const { return around != Border{} || channels_before > 0 || channels_behind > 0; }
};

// Notes what `pad` does at one end of an axis.
Result<void> add_pad(std::int64_t pad, int axis, bool at_begin, int rank, Padding& padding) {
  const bool spatial = axis > channel_axis;
  const std::int64_t least = spatial ? -max_border : 0;
  const std::int64_t most = axis == 0 ? 0 : spatial ? max_border : max_onnx_channels;
  if (pad < least || pad > most) {
    return unsupported("pads of " + std::to_string(pad) + " along axis " + std::to_string(axis) +
                       " are not supported; " +
                       (axis == 0 ? "only 0" : std::to_string(least) + " to " + std::to_string(most) + " are"));
  }
  if (!spatial) {
    (at_begin ? padding.channels_before : padding.channels_behind) = axis == channel_axis ? pad : 0;
    return {};
  }
  const int own = axis + 1 - rank;
  (at_begin ? padding.crop.begin : padding.crop.end)[own] = std::max<std::int64_t>(0, -pad);
  (at_begin ? padding.around.begin : padding.around.end)[own] = std::max<std::int64_t>(0, pad);
  return {};
}

// Returns what pads do. `pads` holds all begins, then all ends, of the axes in `axes`; those below 0 crop.
Result<Padding> padding_of(const Integers& pads, const Integers& axes, int rank) {
  if (pads.size() != 2 * axes.size()) {
    return corrupt("has " + std::to_string(pads.size()) + " pads; " + std::to_string(2 * axes.size()) + " are right");
  }
  Padding padding;
  std::set<int> seen;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const Result<int> axis = axis_of(axes[i % axes.size()], rank + 2);
    if (!axis) return axis.error();
    const bool is_new = i >= axes.size() || seen.insert(*axis).second;
    if (!is_new) return corrupt("axis " + std::to_string(*axis) + " stands twice among its axes");
    if (Result<void> added = add_pad(pads[i], *axis, i < axes.size(), rank, padding); !added) return added.error();
  }
  return padding;
}

// Fails if what is put around is not zeros.
Result<void> check_zeros(const OnnxNode& node, const OnnxBuilder& builder) {
  constexpr int value_input = 2;  // an attribute before operator set 11
  const Result<std::string> mode = node.attributes.text("mode", "constant");
  if (!mode) return mode.error();
  if (*mode != "constant") {
    return unsupported("mode = " + in_quotes(*mode) +
                       " is not supported; only constant, with zeros, and, around space, edge and reflect");
  }
  const Result<float> value = node.attributes.real("value", 0);
  if (!value) return value.error();
  if (*value != 0) return unsupported("pads by " + std::to_string(*value) + "; only zeros are supported");
  if (!OnnxBuilder::has_input(node.proto, value_input)) return {};
  const onnx::TensorProto* tensor = builder.constant(node.proto, value_input);
  if (tensor == nullptr) return unsupported("pads by a computed number; only zeros are supported");
  const Result<std::vector<float>> numbers = builder.floats_of(*tensor);
  if (!numbers) return numbers.error();
  if (numbers->size() == 1 && numbers->front() == 0) return {};
  return unsupported("pads by a constant that is not 0; only zeros are supported");
}

// Repeats the voxels at the border of what the crop leaves, reflects those beside them, or puts zeros around.
Result<void> append_padding(const OnnxNode& node, OnnxBuilder& builder, int input, const Padding& padding) {
  if (!padding.has_any()) return append_crop(node, builder, input, padding.crop);
  const Result<std::string> mode = node.attributes.text("mode", "constant");
  const bool around_space = padding.channels_before == 0 && padding.channels_behind == 0;
  const bool repeats = mode && *mode == "edge" && around_space;
  const bool reflects = mode && *mode == "reflect" && around_space;
  if (const Result<void> zeros = repeats || reflects ? Result<void>() : check_zeros(node, builder); !zeros)
    return zeros;
  const std::int64_t f = builder.channels(input);
  if (f == unknown_channels) {
    builder.guess(node.proto);
    return {};
  }
  const int left = padding.crop == Crop{} ? input : builder.append_part(node.proto, padding.crop, input, f);
  if (repeats) {
    builder.alias(node.proto, append_edges(node, builder, left, padding.around));
    return {};
  }
  if (reflects) {
    builder.alias(node.proto, append_reflections(node, builder, left, padding.around));
    return {};
  }
  const ChannelCopy copy{0, f, padding.channels_before, padding.channels_behind};
  const Result<int> padded = append_copy(node, builder, left, copy, padding.around);
  if (!padded) return padded.error();
  builder.alias(node.proto, *padded);
  return {};
}

// Where a range of the channel axis lies: `count` channels, `step` apart.
struct Channels {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
};

// Returns the channels that a range keeps of `f`.
Result<Channels> channels_of(const Range& range, std::int64_t f) {
  const auto place = [f](std::int64_t bound) { return std::clamp<std::int64_t>(bound < 0 ? bound + f : bound, 0, f); };
  if (!is_constant(range.start) || !is_constant(range.end)) {
    return unsupported("keeps " + text_of(range) + ", which depends on the volume's extent");
  }
  const std::int64_t first = place(range.start.least);
  const Channels kept{first, div_up(std::max<std::int64_t>(0, place(range.end.least) - first), range.step), range.step};
  if (kept.count > 0) return kept;
  return corrupt("keeps " + text_of(range) + ": none of " + std::to_string(f) + " channels");
}

// Returns the value with the channels that the range keeps.
Result<int> with_channels(const OnnxNode& node, OnnxBuilder& builder, int input, const Range& range) {
  const std::int64_t f = builder.channels(input);
  const Result<Channels> kept = channels_of(range, f);
  if (!kept) return kept.error();
  if (kept->count == f) return input;
  return append_copy(node, builder, input, {kept->first, kept->count, 0, 0, kept->step});
}

}  // namespace

Result<void> convert_slice(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  if (builder.guess_reader(node.proto)) return {};
  const Result<std::vector<Range>> ranges = ranges_of(node, builder);
  if (!ranges) return ranges.error();
  if (builder.is_guessed(*input)) {
    builder.guess(node.proto);
    return {};
  }
  Crop crop;
  Vec3 steps = Vec3::cube(1);
  Result<int> kept = *input;
  for (const Range& range : *ranges) {
    if (range.axis == 0) {
      if (Result<void> whole = check_batch(range, builder.batch()); !whole) return whole;
      continue;
    }
    if (range.axis == channel_axis) {
      kept = with_channels(node, builder, *input, range);
      if (!kept) return kept.error();
      continue;
    }
    const int axis = range.axis + 1 - builder.rank();
    const Result<Ends> border = border_of(range, extent_along(builder.extents(*input), axis));
    if (!border) return border.error();
    crop.begin[axis] = border->begin;
    crop.end[axis] = border->end;
    steps[axis] = range.step;
  }
  return append_steps(node, builder, *kept, crop, steps);
}

Result<void> convert_pad(const OnnxNode& node, OnnxBuilder& builder) {
  constexpr int pads_input = 1;  // an attribute before operator set 11
  constexpr int axes_input = 3;  // since operator set 18
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  if (builder.guess_reader(node.proto)) return {};
  const Result<std::optional<Integers>> given = constants_at(node, builder, pads_input, "pads");
  if (!given) return given.error();
  Result<Integers> pads = *given ? Result<Integers>(**given) : node.attributes.integers("pads");
  if (!pads) return pads.error();
  const Result<std::optional<Integers>> named = constants_at(node, builder, axes_input, "axes");
  if (!named) return named.error();
  const std::size_t all = static_cast<std::size_t>(builder.rank()) + 2;
  const Result<Padding> padding = padding_of(*pads, (*named).value_or(first_axes(all)), builder.rank());
  return padding ? append_padding(node, builder, *input, *padding) : padding.error();
}

}  // namespace znni
