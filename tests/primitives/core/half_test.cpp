#include "primitives/core/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/half_value.hpp"

namespace znni {
namespace {

bool is_nan(std::uint16_t half) { return (half & 0x7fff) > 0x7c00; }

TEST(Half, EveryHalfBecomesItsValueAndComesBack) {
  for (int i = 0; i <= 0xffff; ++i) {
    const auto half = static_cast<std::uint16_t>(i);
    const float value = float_from_half(half);
    if (is_nan(half)) {
      EXPECT_TRUE(std::isnan(value)) << i;
      EXPECT_TRUE(is_nan(half_from_float(value))) << i;
      continue;
    }
    EXPECT_EQ(static_cast<double>(value), test::half_value(half)) << i;
    EXPECT_EQ(std::signbit(value), (half & 0x8000) != 0) << i;
    EXPECT_EQ(half_from_float(value), half) << i;
  }
}

TEST(Half, FloatsRoundToTheNearestHalfAndTiesToEven) {
  for (std::uint16_t low = 0; low < 0x7bff; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const float middle = (float_from_half(low) + float_from_half(high)) / 2;  // exact
    EXPECT_EQ(half_from_float(middle), low % 2 == 0 ? low : high) << low;
    EXPECT_EQ(half_from_float(std::nextafter(middle, 0.0F)), low) << low;
    EXPECT_EQ(half_from_float(std::nextafter(middle, 1e9F)), high) << low;
  }
}

TEST(Half, WhatIsTooLargeForAHalfBecomesInfinite) {
  EXPECT_EQ(half_from_float(65504.0F), 0x7bff);
  EXPECT_EQ(half_from_float(std::nextafter(65520.0F, 0.0F)), 0x7bff);
  EXPECT_EQ(half_from_float(65520.0F), 0x7c00);
  EXPECT_EQ(half_from_float(-1e30F), 0xfc00);
  EXPECT_EQ(half_from_float(-std::numeric_limits<float>::infinity()), 0xfc00);
}

}  // namespace
}  // namespace znni
