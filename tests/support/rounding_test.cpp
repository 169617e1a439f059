#include "tests/support/rounding.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::test {
namespace {

// Checks the definition: the kept bits, and an error of at most half of the last one.
TEST(Rounding, KeepsTheBitsOfThePrecisionAndGoesToTheNearest) {
  Random random(base_seed());
  for (int i = 0; i < case_count(1000); ++i) {
    const auto value =
        static_cast<float>(std::ldexp(static_cast<double>(random.normal()), static_cast<int>(random.integer(-20, 20))));
    for (const auto& [precision, bits] : {std::pair{Precision::tf32, 10}, std::pair{Precision::bf16, 7}}) {
      int exponent = 0;
      const double mantissa = std::frexp(static_cast<double>(value), &exponent);
      const double expected = std::ldexp(std::nearbyint(std::ldexp(mantissa, bits + 1)), exponent - bits - 1);
      EXPECT_EQ(static_cast<double>(rounded(value, precision)), expected) << value;
      EXPECT_LE(std::abs(expected - static_cast<double>(value)),
                unit_of(precision) * std::abs(static_cast<double>(value)));
    }
    EXPECT_EQ(rounded(value, Precision::fp32), value);
  }
}

TEST(Rounding, LeavesWhatIsNoNumber) {
  constexpr float infinite = std::numeric_limits<float>::infinity();
  for (const Precision precision : {Precision::tf32, Precision::bf16}) {
    EXPECT_TRUE(std::isnan(rounded(std::nanf(""), precision)));
    EXPECT_EQ(rounded(-infinite, precision), -infinite);
    EXPECT_EQ(rounded(0.0F, precision), 0.0F);
  }
}

TEST(Rounding, VoxelsOfBothElementTypesAreFound) {
  const Shape5 shape{2, 3, {2, 2, 2}};
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    std::array<float, 48> block{};
    const TensorView view = dense_view(block.data(), shape, {type, Layout::channels_last});
    set(view, 1, 2, {1, 1, 1}, 3.0F);
    set(view, 0, 1, {0, 1, 0}, 1.00390625F);  // 1 + 2^-8: a tie in bf16
    EXPECT_EQ(get(view, 1, 2, {1, 1, 1}), 3.0F);
    EXPECT_EQ(get(view, 0, 1, {0, 1, 0}), type == ElementType::f32 ? 1.00390625F : 1.0F);
    EXPECT_EQ(get(view, 1, 2, {1, 1, 0}), 0.0F);
  }
}

}  // namespace
}  // namespace znni::test
