// Numbers of which a layer has one for each channel, padded to whole blocks with zeros. So padding channels of a
// blocked tensor, which are zero, stay zero when they are multiplied.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "primitives/core/primitive.hpp"
#include "primitives/cpu/device/estimates.hpp"

namespace znni::cpu {

// Returns the persistent buffer of one number for each channel of a tensor of that shape and format.
[[nodiscard]] inline Buffer per_channel_buffer(std::string_view name, const Shape5& shape, Format format) {
  const std::int64_t bytes = float_bytes(round_up(shape.f, block_width(format.layout)));
  return {std::string(name), MemorySpace::host, bytes, Lifetime::plan()};
}

// Takes that buffer and returns it with the values, and zeros behind them.
inline std::span<const float> grant_per_channel(Arena& persistent, std::string_view name,
                                                std::span<const float> values) {
  const std::span<float> padded = persistent.grant_as<float>(name);
  std::fill(padded.begin(), padded.end(), 0.0F);
  std::copy(values.begin(), values.end(), padded.begin());
  return padded;
}

}  // namespace znni::cpu
