#include "client/cli/padding.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace znni::client {
namespace {

TEST(Padding, OutputIsAsLargeAsTheInput) {
  for (std::int64_t fov = 1; fov < 8; ++fov) {
    const PaddedExtent extent = pad(Padding::zero, {5, 6, 7}, Vec3::cube(fov));
    EXPECT_EQ(extent.outer - Vec3::cube(fov) + Vec3::cube(1), (Vec3{5, 6, 7}));
    EXPECT_EQ(extent.before, Vec3::cube((fov - 1) / 2));
  }
}

TEST(Padding, NoneChangesNothing) {
  const PaddedExtent extent = pad(Padding::none, {5, 6, 7}, Vec3::cube(4));
  EXPECT_EQ(extent.outer, extent.inner);
  EXPECT_EQ(source_position(extent, 2, 6), 6);
}

TEST(Padding, ReflectionLeavesOutTheEdge) {
  const PaddedExtent extent = pad(Padding::reflect, {4, 4, 4}, Vec3::cube(10));  // 4 before, 5 after
  const std::vector<std::int64_t> expected = {2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(source_position(extent, 1, static_cast<std::int64_t>(i)), expected[i]) << i;
  }
}

TEST(Padding, ReflectionOfASingleVoxelRepeatsIt) {
  const PaddedExtent extent = pad(Padding::reflect, {1, 1, 1}, Vec3::cube(5));
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(source_position(extent, 0, i), 0);
}

TEST(Padding, ZeroReadsNothingOutside) {
  const PaddedExtent extent = pad(Padding::zero, {3, 3, 3}, Vec3::cube(4));
  EXPECT_EQ(source_position(extent, 0, 0), std::nullopt);
  EXPECT_EQ(source_position(extent, 0, 1), 0);
  EXPECT_EQ(source_position(extent, 0, 4), std::nullopt);
}

TEST(Padding, NamesRoundTripAndOthersAreRefused) {
  for (const char* name : {"none", "zero", "reflect"}) EXPECT_EQ(to_string(*parse_padding(name)), name);
  EXPECT_FALSE(parse_padding("mirror"));
}

}  // namespace
}  // namespace znni::client
