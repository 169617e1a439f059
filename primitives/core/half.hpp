// IEEE binary16 and float32, in integer arithmetic, so that no instruction set is asked for. The functions are for
// loops that compilers vectorize. Hence choices are masks, which never become branches, and all are inline: the
// compiler cannot inline a function that may be replaced when a program is linked.
#pragma once

#include <bit>
#include <cstdint>

namespace znni {
namespace half {

constexpr std::uint32_t sign_bit = 0x80000000U;
constexpr std::uint32_t infinite = 0x7c00U;
// Float bits of 2^-14 (least normal half) and of 65520 (least that rounds to infinity).
constexpr std::uint32_t min_normal = 113U << 23U;
constexpr std::uint32_t too_large = 0x477ff000U;

// Returns all ones if `condition` holds, otherwise zero.
constexpr std::uint32_t mask(bool condition) { return 0U - static_cast<std::uint32_t>(condition); }

}  // namespace half

// Converts all values; keeps infinities and NaNs.
[[nodiscard]] inline float float_from_half(std::uint16_t value) {
  const std::uint32_t magnitude = value & 0x7fffU;
  const std::uint32_t sign = static_cast<std::uint32_t>(value & 0x8000U) << 16U;
  // Subnormal halves count 2^-24.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  const std::uint32_t normal = (magnitude << 13U) + ((127U - 15U) << 23U);
  const std::uint32_t special = (magnitude << 13U) | 0x7f800000U;
  const std::uint32_t is_small = half::mask(magnitude < 0x400U);
  const std::uint32_t is_special = half::mask(magnitude >= half::infinite);
  return std::bit_cast<float>((small & is_small) | (special & is_special) | (normal & ~(is_small | is_special)) | sign);
}

// Rounds to nearest even; what is too large becomes infinity.
[[nodiscard]] inline std::uint16_t half_from_float(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~half::sign_bit;
  // Adding 0.5 to a number below 2^-14 leaves it, rounded to 2^-24, in the low bits.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t odd = (magnitude >> 13U) & 1U;
  const std::uint32_t normal = (magnitude - ((127U - 15U) << 23U) + 0xfffU + odd) >> 13U;
  const std::uint32_t special = half::infinite | (0x0200U & half::mask(magnitude > 0x7f800000U));
  const std::uint32_t is_small = half::mask(magnitude < half::min_normal);
  const std::uint32_t is_large = half::mask(magnitude >= half::too_large);
  const std::uint32_t found = (small & is_small) | (special & is_large) | (normal & ~(is_small | is_large));
  return static_cast<std::uint16_t>(found | ((bits & half::sign_bit) >> 16U));
}

}  // namespace znni
