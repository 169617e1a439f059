#include "server/volume/element.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "primitives/core/half.hpp"

namespace znni {
namespace {

using half::mask;

// This function is for loops that compilers vectorize, as those of half.hpp are.
inline std::uint8_t float_to_byte(float value) {
  const float scaled = value * 255.0F;
  const std::uint32_t positive = mask(scaled > 0.0F);  // NaN compares false
  const std::uint32_t large = mask(scaled > 255.0F);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(scaled) & positive & ~large;
  const float within = std::bit_cast<float>(bits | (std::bit_cast<std::uint32_t>(255.0F) & large));
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(within + 0.5F));
}

// Returns the element of type T at `data` as a float.
template <class T>
float load(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return static_cast<float>(value);
}

constexpr std::uint32_t float_exponent = 0x7f800000U;

// Returns `value`, or the float32 of bits `instead` if `value` is NaN or infinite: all bits of its exponent are set.
inline float finite_or(float value, std::uint32_t instead) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t wrong = mask((bits & float_exponent) == float_exponent);
  return std::bit_cast<float>((bits & ~wrong) | (instead & wrong));
}

void read_replacing(const std::byte* from, std::int64_t count, const Normalisation& normalisation, float* to) {
  const float scale = normalisation.scale;
  const float offset = normalisation.offset;
  const std::uint32_t instead = std::bit_cast<std::uint32_t>(*normalisation.instead);
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = finite_or(load<float>(from + i * static_cast<std::int64_t>(sizeof(float))), instead) * scale + offset;
  }
}

void read_halves_replacing(const std::byte* from, std::int64_t count, const Normalisation& normalisation, float* to) {
  const float scale = normalisation.scale;
  const float offset = normalisation.offset;
  const std::uint32_t instead = std::bit_cast<std::uint32_t>(*normalisation.instead);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, from + 2 * i, sizeof(half));
    to[i] = finite_or(float_from_half(half), instead) * scale + offset;
  }
}

template <class T>
void read_elements(const std::byte* from, std::int64_t count, const Normalisation& normalisation, float* to) {
  const float scale = normalisation.scale;
  const float offset = normalisation.offset;
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = load<T>(from + i * static_cast<std::int64_t>(sizeof(T))) * scale + offset;
  }
}

void read_halves(const std::byte* from, std::int64_t count, const Normalisation& normalisation, float* to) {
  const float scale = normalisation.scale;
  const float offset = normalisation.offset;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, from + 2 * i, sizeof(half));
    to[i] = float_from_half(half) * scale + offset;
  }
}

template <class T, class Convert>
void write_elements(const float* from, std::int64_t count, std::byte* to, std::int64_t step, Convert convert) {
  const auto write = [=](std::int64_t distance) {
    for (std::int64_t i = 0; i < count; ++i) {
      const T value = convert(from[i]);
      std::memcpy(to + i * distance, &value, sizeof(T));
    }
  };
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  if (step == 1) return write(size);  // a loop of its own, in vectors
  write(step * size);
}

}  // namespace

std::uint8_t byte_from_float(float value) { return float_to_byte(value); }

void read_row(ElementType type, const std::byte* from, std::int64_t count, const Normalisation& normalisation,
              float* to) {
  if (type == ElementType::f32 && normalisation == Normalisation{}) {  // -0 stays what it is
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  if (normalisation.instead && type == ElementType::f32) return read_replacing(from, count, normalisation, to);
  if (normalisation.instead && type == ElementType::f16) return read_halves_replacing(from, count, normalisation, to);
  switch (type) {
    case ElementType::f32: return read_elements<float>(from, count, normalisation, to);
    case ElementType::f16: return read_halves(from, count, normalisation, to);
    case ElementType::u16: return read_elements<std::uint16_t>(from, count, normalisation, to);
    case ElementType::u8: return read_elements<std::uint8_t>(from, count, normalisation, to);
    case ElementType::bf16: ensure(false, "input volumes have no element type bf16");
  }
}

bool can_write(ElementType type) { return type != ElementType::u16 && type != ElementType::bf16; }

void write_row(ElementType type, const float* from, std::int64_t count, std::byte* to, std::int64_t step) {
  switch (type) {
    case ElementType::f32: return write_elements<float>(from, count, to, step, [](float x) { return x; });
    case ElementType::f16:
      return write_elements<std::uint16_t>(from, count, to, step, [](float x) { return half_from_float(x); });
    case ElementType::u8:
      return write_elements<std::uint8_t>(from, count, to, step, [](float x) { return float_to_byte(x); });
    case ElementType::u16:
    case ElementType::bf16: ensure(false, "output volumes are of f32, f16 or u8");
  }
}

}  // namespace znni
