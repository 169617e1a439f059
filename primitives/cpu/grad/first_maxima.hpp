// Finds the first largest voxel of each window of a max pooling. A voxel of a window is given by its position, in the
// order z, y, x.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "primitives/cpu/vectors/simd8.hpp"

namespace znni::cpu {

using Position = std::uint8_t;

// Simd8 bytes, and as many numbers.
typedef Position Eighth __attribute__((vector_size(8)));     // NOLINT
typedef std::int8_t Signs __attribute__((vector_size(8)));   // NOLINT
typedef std::int32_t Mask __attribute__((vector_size(32)));  // NOLINT

// Offsets of a window's voxels from its first, in floats. The most frequent counts are known to the compiler, which
// then unrolls the loops over them; 0 stands for any.
template <std::size_t count>
using Places = std::conditional_t<count == 0, std::span<const std::int64_t>, std::array<std::int64_t, count>>;

// Finds the first largest of the values at `places`, from `from` on, for a vector of windows.
template <std::size_t count>
void find_largest(const float* from, const Places<count>& places, Position* positions) {
  Simd8::V most = Simd8::load(from + places.front());
  Mask first = {};
  for (std::size_t i = 1; i < places.size(); ++i) {
    const Simd8::V value = Simd8::load(from + places[i]);
    const Mask larger = value > most;
    first = larger ? Mask{} + static_cast<std::int32_t>(i) : first;
    most = larger ? value : most;
  }
  const auto bytes = __builtin_convertvector(first, Eighth);
  std::memcpy(positions, &bytes, sizeof(bytes));
}

// Returns the position of the first largest, of one window.
inline Position largest(const float* from, std::span<const std::int64_t> places) {
  std::size_t most = 0;
  for (std::size_t i = 1; i < places.size(); ++i) most = from[places[i]] > from[places[most]] ? i : most;
  return static_cast<Position>(most);
}

// Finds the maxima of a row of `windows` windows, whose voxels have `width` lanes and lie `step` floats apart.
template <std::int64_t width, std::size_t count>
void find_row(std::span<const std::int64_t> all, const float* from, std::int64_t windows, std::int64_t step,
              Position* positions) {
  Places<count> places;
  if constexpr (count == 0) {
    places = all;
  } else {
    std::copy(all.begin(), all.end(), places.begin());
  }
  for (std::int64_t x = 0; x < windows; ++x, from += step, positions += width) {
    if constexpr (width == 1) {
      *positions = largest(from, places);
    } else {
      for (std::int64_t i = 0; i < width; i += Simd8::lanes) find_largest<count>(from + i, places, positions + i);
    }
  }
}

}  // namespace znni::cpu
