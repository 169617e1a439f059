// What a binary16 is by its definition, in double: an oracle beside all conversions.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace znni::test {

[[nodiscard]] inline double half_value(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

}  // namespace znni::test
