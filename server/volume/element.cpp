#include "server/volume/element.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace znni {
namespace {

constexpr std::uint32_t sign_bit = 0x80000000U;
constexpr std::uint32_t infinite_half = 0x7c00U;
// Float bits of 2^-14 (least normal half) and of 65520 (least that rounds to infinity).
constexpr std::uint32_t least_normal = 113U << 23U;
constexpr std::uint32_t too_large = 0x477ff000U;

// One element of type T at `data`, as float.
template <class T>
float load(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return static_cast<float>(value);
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
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, from + 2 * i, sizeof(half));
    to[i] = float_from_half(half) * normalisation.scale + normalisation.offset;
  }
}

template <class T, class Convert>
void write_elements(const float* from, std::int64_t count, std::byte* to, std::int64_t step, Convert convert) {
  const std::int64_t bytes = step * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = convert(from[i]);
    std::memcpy(to + i * bytes, &value, sizeof(T));
  }
}

}  // namespace

float float_from_half(std::uint16_t half) {
  const std::uint32_t magnitude = half & 0x7fffU;
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
  // Subnormal halves count 2^-24.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  const std::uint32_t normal = (magnitude << 13U) + ((127U - 15U) << 23U);
  const std::uint32_t special = (magnitude << 13U) | 0x7f800000U;
  const std::uint32_t bits = magnitude < 0x400U ? small : magnitude < infinite_half ? normal : special;
  return std::bit_cast<float>(bits | sign);
}

std::uint16_t half_from_float(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~sign_bit;
  // Adding 0.5 to a number below 2^-14 leaves it, rounded to 2^-24, in the low bits.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t odd = (magnitude >> 13U) & 1U;
  const std::uint32_t normal = (magnitude - ((127U - 15U) << 23U) + 0xfffU + odd) >> 13U;
  const std::uint32_t special = magnitude > 0x7f800000U ? 0x7e00U : infinite_half;
  const std::uint32_t half = magnitude < least_normal ? small : magnitude < too_large ? normal : special;
  return static_cast<std::uint16_t>(half | ((bits & sign_bit) >> 16U));
}

std::uint8_t byte_from_float(float value) {
  const float scaled = value * 255.0F;
  const float above = scaled > 0.0F ? scaled : 0.0F;  // NaN compares false
  const float within = above < 255.0F ? above : 255.0F;
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(within + 0.5F));
}

void read_row(ElementType type, const std::byte* from, std::int64_t count, const Normalisation& normalisation,
              float* to) {
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
    case ElementType::f16: return write_elements<std::uint16_t>(from, count, to, step, half_from_float);
    case ElementType::u8: return write_elements<std::uint8_t>(from, count, to, step, byte_from_float);
    case ElementType::u16:
    case ElementType::bf16: ensure(false, "output volumes are of f32, f16 or u8");
  }
}

}  // namespace znni
