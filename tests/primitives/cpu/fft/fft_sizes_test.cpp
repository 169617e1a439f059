#include "primitives/cpu/fft/fft_sizes.hpp"

#include <gtest/gtest.h>

namespace znni::cpu {
namespace {

// Returns whether n fits the definition, by division.
bool is_fft_size(std::int64_t n) {
  for (const std::int64_t odd : {11, 13}) {
    if (n % odd == 0) {
      n /= odd;
      break;
    }
  }
  for (const std::int64_t factor : {2, 3, 5, 7}) {
    while (n % factor == 0) n /= factor;
  }
  return n == 1;
}

TEST(FftSizes, AreTheSmallestByDefinition) {
  for (std::int64_t n = 1; n <= 3000; ++n) {
    std::int64_t expected = n;
    while (!is_fft_size(expected)) ++expected;
    EXPECT_EQ(fft_size(n), expected) << "n = " << n;
  }
}

TEST(FftSizes, AllowOneFactorOfElevenOrThirteenOnly) {
  EXPECT_EQ(fft_size(11), 11);
  EXPECT_EQ(fft_size(13), 13);
  EXPECT_EQ(fft_size(121), 125);
  EXPECT_EQ(fft_size(143), 144);
  EXPECT_EQ(fft_size(169), 175);
}

TEST(FftSizes, OfHugeExtentsNeitherWrapNorHang) {
  for (int bits = 20; bits < 62; ++bits) {
    const std::int64_t n = (std::int64_t{1} << bits) + 1;
    EXPECT_GE(fft_size(n), n);
    EXPECT_LT(fft_size(n), 2 * n);
  }
  EXPECT_GE(fft_size(saturated - 1), saturated - 1);
}

TEST(FftSizes, GrowEachAxisAlone) { EXPECT_EQ(fft_extent({17, 1, 48}), (Vec3{18, 1, 48})); }

TEST(TransformElements, HalveTheRowsOfXOnly) {
  EXPECT_EQ(transform_elements({4, 6, 8}), 4 * 6 * 5);
  EXPECT_EQ(transform_elements({4, 6, 9}), 4 * 6 * 5);
  EXPECT_EQ(transform_elements({1, 1, 1}), 2);  // even, so that consecutive transforms have the same alignment
  EXPECT_EQ(transform_elements(Vec3::cube(std::int64_t{1} << 40)), saturated);
}

}  // namespace
}  // namespace znni::cpu
