#include "primitives/core/fragments.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace znni {
namespace {

using Offsets = std::vector<std::int64_t>;

TEST(Fragments, OffsetsRise) {
  const AxisFragments twice = AxisFragments{}.pooled(2).pooled(3);
  EXPECT_EQ(twice.stride, 6);
  EXPECT_EQ(twice.offsets, (Offsets{0, 1, 2, 3, 4, 5}));
}

TEST(Fragments, TheNewestPoolingIsTheMostSignificantDigit) {
  const AxisFragments before = AxisFragments{}.pooled(2);
  const AxisFragments after = before.pooled(2);
  // index = new * before + old, offset = old + stride * new.
  for (std::size_t index = 0; index < 4; ++index) {
    EXPECT_EQ(after.offsets[index], before.offsets[index % 2] + 2 * static_cast<std::int64_t>(index / 2));
  }
}

TEST(Fragments, APlainPoolingMakesNoneButSpreadsThoseThatCome) {
  const AxisFragments mixed = AxisFragments{}.strided(2).pooled(3);
  EXPECT_EQ(mixed.stride, 6);
  EXPECT_EQ(mixed.offsets, (Offsets{0, 2, 4}));
  EXPECT_EQ(AxisFragments{}.pooled(3).strided(2), (AxisFragments{6, {0, 1, 2}}));
  EXPECT_EQ(AxisFragments{}.pooled(2).pooled(6, 3), (AxisFragments{12, {0, 1, 2, 3, 4, 5}}));
}

TEST(Fragments, TheOrderOfPoolingsDoesNotMatter) {
  EXPECT_EQ(AxisFragments{}.pooled(2).pooled(3), AxisFragments{}.pooled(3).pooled(2));
}

TEST(Fragments, RowMajorIndexAndBack) {
  const Vec3 fragments{2, 3, 4};
  for (std::int64_t index = 0; index < 24; ++index) {
    const Vec3 at = fragment_at(index, fragments);
    EXPECT_TRUE(covers(fragments - Vec3::cube(1), at));
    EXPECT_EQ(fragment_index(at, fragments), index);
  }
  EXPECT_EQ(fragment_at(1, fragments), (Vec3{0, 0, 1}));
  EXPECT_EQ(fragment_at(4, fragments), (Vec3{0, 1, 0}));
}

}  // namespace
}  // namespace znni
