// Element types as kernels see them, and their conversions from and to float, by their bits: the same on host and
// device. Roundings are to nearest, ties to even.
#pragma once

#include <cstdint>

namespace znni::cuda {

struct Half {
  std::uint16_t bits;  // IEEE binary16; no initial value, so that shared memory may hold it
};
struct Bfloat {
  std::uint16_t bits;  // upper half of a float
};

constexpr std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }
constexpr float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

constexpr float widen(float value) { return value; }
constexpr float widen(Bfloat value) { return float_of(static_cast<std::uint32_t>(value.bits) << 16U); }
constexpr float widen(std::uint8_t value) { return static_cast<float>(value); }
constexpr float widen(Half value) {
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16U;
  if (magnitude < 0x400U) return float_of(bits_of(static_cast<float>(magnitude) * 5.9604644775390625e-8F) | sign);
  if (magnitude < 0x7c00U) return float_of(((magnitude << 13U) + (112U << 23U)) | sign);
  return float_of((magnitude << 13U) | 0x7f800000U | sign);
}

// Returns the element of the type of the second argument: narrow(value, T()).
constexpr float narrow(float value, float) { return value; }
constexpr Bfloat narrow(float value, Bfloat) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};  // stays a NaN
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U)};
}
constexpr Half narrow(float value, Half) {
  constexpr std::uint32_t min_normal = 113U << 23U;  // 2^-14
  constexpr std::uint32_t too_large = 0x477ff000U;   // 65520, least that rounds to infinity
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  std::uint32_t half = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  if (magnitude < min_normal) {
    half = bits_of(float_of(magnitude) + 0.5F) - bits_of(0.5F);  // rounded to 2^-24 in the low bits
  } else if (magnitude < too_large) {
    half = (magnitude - (112U << 23U) + 0xfffU + ((magnitude >> 13U) & 1U)) >> 13U;
  }
  return {static_cast<std::uint16_t>(half | sign)};
}
// Converts probabilities: 0 to 255 for 0 to 1, clamped; NaN gives 0.
constexpr std::uint8_t narrow(float value, std::uint8_t) {
  const float scaled = value * 255.0F;
  const float above = scaled > 0.0F ? scaled : 0.0F;
  const float within = above < 255.0F ? above : 255.0F;
  return static_cast<std::uint8_t>(within + 0.5F);
}

}  // namespace znni::cuda
