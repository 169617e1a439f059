#include "primitives/core/shape.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(Shape, ProductsAndSumsSaturate) {
  EXPECT_EQ(mul(3, 4), 12);
  EXPECT_EQ(mul(saturated, 0), 0);
  EXPECT_EQ(mul(saturated, 2), saturated);
  EXPECT_EQ(mul(std::int64_t{1} << 32, std::int64_t{1} << 31), saturated);
  EXPECT_EQ(mul(std::int64_t{1} << 31, std::int64_t{1} << 31), std::int64_t{1} << 62);
  EXPECT_EQ(add(saturated, 1), saturated);
  EXPECT_EQ(add(saturated - 1, 1), saturated);
}

TEST(Shape, RoundsUp) {
  EXPECT_EQ(div_up(0, 4), 0);
  EXPECT_EQ(div_up(4, 4), 1);
  EXPECT_EQ(div_up(5, 4), 2);
  EXPECT_EQ(round_up(17, 16), 32);
  EXPECT_EQ(round_up(saturated, 64), saturated);
}

TEST(Shape, ElementsOfAbsurdShapesSaturate) {
  const Shape5 absurd{1 << 20, 1 << 20, Vec3::cube(1 << 20)};
  EXPECT_EQ(elements(absurd), saturated);
  EXPECT_EQ(voxels(Vec3::cube(1 << 21)), saturated);
  EXPECT_EQ(elements({2, 3, {4, 5, 6}}), 720);
}

TEST(Shape, AxesAreZYX) {
  Vec3 n{1, 2, 3};
  EXPECT_EQ(n[0], 1);
  EXPECT_EQ(n[1], 2);
  EXPECT_EQ(n[2], 3);
  n[1] = 7;
  EXPECT_EQ(n, (Vec3{1, 7, 3}));
}

TEST(Shape, ArithmeticIsPerAxis) {
  EXPECT_EQ((Vec3{1, 2, 3} + Vec3{4, 5, 6}), (Vec3{5, 7, 9}));
  EXPECT_EQ((Vec3{4, 5, 6} - Vec3{1, 2, 3}), Vec3::cube(3));
  EXPECT_EQ((Vec3{1, 2, 3} * Vec3{2, 2, 2}), (Vec3{2, 4, 6}));
  EXPECT_EQ((Vec3{5, 9, 7} / Vec3{2, 3, 7}), (Vec3{2, 3, 1}));
  EXPECT_EQ(min(Vec3{1, 9, 3}, Vec3{4, 5, 6}), (Vec3{1, 5, 3}));
  EXPECT_EQ(max(Vec3{1, 9, 3}, Vec3{4, 5, 6}), (Vec3{4, 9, 6}));
}

TEST(Shape, CoversNeedsEveryAxis) {
  EXPECT_TRUE(covers({4, 4, 4}, {4, 1, 3}));
  EXPECT_FALSE(covers({9, 9, 2}, {1, 1, 3}));
}

TEST(Shape, DilatedWindowCountsItsGaps) { EXPECT_EQ(dilated({3, 1, 4}, {2, 5, 1}), (Vec3{5, 1, 4})); }

TEST(Shape, ChecksExtentsAndSize) {
  EXPECT_TRUE(check_shape({1, 1, {1, 1, 1}}).has_value());
  const Result<void> empty = check_shape({1, 2, {3, 0, 4}});
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(empty.error().message.find("1x2x3x0x4"), std::string::npos);
  EXPECT_FALSE(check_shape({0, 1, {1, 1, 1}}).has_value());
  EXPECT_FALSE(check_shape({1, -3, {1, 1, 1}}).has_value());
  EXPECT_FALSE(check_shape({1, 1 << 20, Vec3::cube(1 << 14)}).has_value());
  EXPECT_TRUE(check_shape({1, 1 << 10, Vec3::cube(1 << 14)}).has_value());
}

TEST(Shape, Text) {
  EXPECT_EQ(to_string(Vec3{32, 48, 49}), "32x48x49");
  EXPECT_EQ(to_string(Shape5{1, 80, {32, 48, 49}}), "1x80x32x48x49");
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(std::int64_t{3} << 30), "3.00 GiB");
}

}  // namespace
}  // namespace znni
