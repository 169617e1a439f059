#include "primitives/gpu/element.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Element, EveryHalfSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const float wide = widen(half);
    const bool nan = (bits & 0x7c00U) == 0x7c00U && (bits & 0x3ffU) != 0;
    ASSERT_EQ(std::isnan(wide), nan) << bits;
    if (!nan) {
      ASSERT_EQ(narrow(wide, Half()).bits, bits);
    }
    if (nan) {
      ASSERT_TRUE(std::isnan(widen(narrow(wide, Half()))));
    }
  }
}

TEST(Element, EveryBfloatSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const Bfloat value{static_cast<std::uint16_t>(bits)};
    const float wide = widen(value);
    if (!std::isnan(wide)) {
      ASSERT_EQ(narrow(wide, Bfloat()).bits, bits);
    }
    if (std::isnan(wide)) {
      ASSERT_TRUE(std::isnan(widen(narrow(wide, Bfloat()))));
    }
  }
}

TEST(Element, RoundsToNearestEven) {
  EXPECT_EQ(widen(narrow(1.0F + 0x1p-8F, Bfloat())), 1.0F);            // a tie, down to even
  EXPECT_EQ(widen(narrow(1.0F + 0x3p-8F, Bfloat())), 1.0F + 0x1p-6F);  // a tie, up to even
  EXPECT_EQ(widen(narrow(1.0F + 0x1.01p-8F, Bfloat())), 1.0F + 0x1p-7F);
  EXPECT_EQ(widen(narrow(1.0F + 0x1p-11F, Half())), 1.0F);
  EXPECT_EQ(widen(narrow(1.0F + 0x3p-11F, Half())), 1.0F + 0x1p-9F);
  EXPECT_EQ(widen(narrow(65520.0F, Half())), infinity);
  EXPECT_EQ(widen(narrow(65519.0F, Half())), 65504.0F);
  EXPECT_EQ(widen(narrow(-infinity, Half())), -infinity);
  EXPECT_EQ(widen(narrow(std::numeric_limits<float>::max(), Bfloat())), infinity);
}

TEST(Element, RandomValuesAreWithinHalfAStep) {
  test::Random random(1);
  for (int i = 0; i < 10000; ++i) {
    const float value = random.normal() * 100.0F;
    EXPECT_LE(std::abs(widen(narrow(value, Bfloat())) - value), std::abs(value) * 0x1p-8F);
    EXPECT_LE(std::abs(widen(narrow(value, Half())) - value), std::abs(value) * 0x1p-11F + 0x1p-25F);
  }
}

TEST(Element, BytesAreClampedProbabilities) {
  const auto byte = [](float value) { return static_cast<int>(narrow(value, std::uint8_t())); };
  EXPECT_EQ(byte(0.0F), 0);
  EXPECT_EQ(byte(1.0F), 255);
  EXPECT_EQ(byte(0.5F), 128);
  EXPECT_EQ(byte(-3.0F), 0);
  EXPECT_EQ(byte(7.0F), 255);
  EXPECT_EQ(byte(std::nanf("")), 0);
}

}  // namespace
}  // namespace znni::cuda
