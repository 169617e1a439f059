#include "proto/convert/onnx/operators/onnx_tile.hpp"

#include <algorithm>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

constexpr std::size_t channel_axis = 1;
constexpr std::int64_t max_repeats = 256;

using Numbers = std::vector<VolumeNumber>;

// Returns the numbers of input 1, one per axis.
Result<Numbers> numbers_at_1(const OnnxNode& node, const OnnxBuilder& builder) {
  const std::optional<KnownTensor> tensor = builder.known_at(node.proto, 1);
  if (tensor) return numbers_of(*tensor);
  return unsupported("its " + in_quotes(node.proto.input(1)) +
                     " is computed of something else than constants and shapes, which is not supported");
}

bool is(const VolumeNumber& number, std::int64_t value) { return number == VolumeNumber{value, {}}; }

// Makes the node's output the value's channels, `times` times one after the other.
Result<void> repeat(const OnnxNode& node, OnnxBuilder& builder, int value, std::int64_t times) {
  const std::int64_t channels = mul(builder.channels(value), times);
  if (times < 1 || times > max_repeats || channels > max_onnx_channels) {
    return unsupported("repeats channels " + std::to_string(times) + " times; 1 to " + std::to_string(max_repeats) +
                       " times, up to 2^20 channels, is supported");
  }
  if (times == 1) {
    builder.alias(node.proto, value);
  } else {
    builder.append(node.proto, Concat{}, std::vector<int>(static_cast<std::size_t>(times), value), channels);
  }
  return {};
}

// Returns whether an Expand to `number` leaves axis `axis` of the value as it is.
bool keeps(const OnnxBuilder& builder, int value, std::size_t axis, const VolumeNumber& number) {
  if (is(number, 1)) return true;
  if (axis == 0) return is(number, builder.batch());
  if (axis == channel_axis) return is(number, builder.channels(value));
  const int spatial = static_cast<int>(axis) + 1 - builder.rank();
  return extent_along(builder.extents(value), spatial) == number;
}

// Returns how often a Tile repeats the channels.
Result<std::int64_t> times_of_tile(const OnnxBuilder& builder, int, const Numbers& repeats) {
  if (repeats.size() != static_cast<std::size_t>(builder.rank()) + 2) {
    return corrupt("has " + std::to_string(repeats.size()) + " repeats; " + std::to_string(builder.rank() + 2) +
                   " are right");
  }
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    const VolumeNumber& times = repeats[axis];
    if (axis == channel_axis ? is_constant(times) : is(times, 1)) continue;
    return unsupported("repeats axis " + std::to_string(axis) + " " + to_string(times) +
                       " times; only channels, axis 1, can be repeated");
  }
  return repeats[channel_axis].least;
}

// Returns how often an Expand to this shape repeats the channels.
Result<std::int64_t> times_of_expand(const OnnxBuilder& builder, int value, const Numbers& shape) {
  const std::size_t axes = static_cast<std::size_t>(builder.rank()) + 2;
  if (shape.size() > axes) {
    return unsupported("to " + std::to_string(shape.size()) + " axes is not supported; only to " +
                       std::to_string(axes));
  }
  std::int64_t times = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = axes - shape.size() + i;  // a shape of fewer axes has the last ones
    const VolumeNumber& number = shape[i];
    if (keeps(builder, value, axis, number)) continue;
    const bool repeats = axis == channel_axis && builder.channels(value) == 1 && is_constant(number);
    if (!repeats) {
      return unsupported("axis " + std::to_string(axis) + " to " + to_string(number) +
                         " is not supported; only one channel can be made several");
    }
    times = number.least;
  }
  return times;
}

using TimesOf = Result<std::int64_t> (*)(const OnnxBuilder& builder, int value, const Numbers& numbers);

Result<void> convert(const OnnxNode& node, OnnxBuilder& builder, TimesOf times_of) {
  if (builder.guess_reader(node.proto)) return {};
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  if (builder.is_guessed(*value)) {
    builder.guess(node.proto);
    return {};
  }
  const Result<Numbers> numbers = numbers_at_1(node, builder);
  if (!numbers) return numbers.error();
  const Result<std::int64_t> times = times_of(builder, *value, *numbers);
  if (!times) return times.error();
  return repeat(node, builder, *value, *times);
}

}  // namespace

Result<void> convert_tile(const OnnxNode& node, OnnxBuilder& builder) {
  const TurnedValue* turned = builder.turned(node.proto.input(0));
  if (turned != nullptr && !builder.reads_guess(node.proto)) return tile_turned(node, builder, TurnedValue(*turned));
  return convert(node, builder, times_of_tile);
}

Result<void> convert_expand(const OnnxNode& node, OnnxBuilder& builder) {
  return convert(node, builder, times_of_expand);
}

}  // namespace znni
