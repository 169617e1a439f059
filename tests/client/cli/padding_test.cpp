#include "client/cli/padding.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace znni::client {
namespace {

PaddedExtent whole(Padding padding, Vec3 n, std::int64_t fov) {
  return pad(padding, n, {{0, 0, 0}, n}, Vec3::cube(fov));
}

TEST(Padding, OutputIsAsLargeAsTheInput) {
  const Vec3 n{5, 6, 7};
  for (std::int64_t fov = 1; fov < 8; ++fov) {
    const PaddedExtent extent = pad(Padding::zero, n, {{0, 0, 0}, n}, Vec3::cube(fov));
    EXPECT_EQ(extent.outer - Vec3::cube(fov) + Vec3::cube(1), n);
    EXPECT_EQ(extent.origin, Vec3::cube((fov - 1) / 2));
  }
}

TEST(Padding, NoneChangesNothing) {
  const PaddedExtent extent = whole(Padding::none, {5, 6, 7}, 4);
  EXPECT_EQ(extent.outer, extent.inner);
  EXPECT_EQ(source_position(extent, 2, 6), 6);
}

TEST(Padding, ReflectionLeavesOutTheEdge) {
  const PaddedExtent extent = whole(Padding::reflect, {4, 4, 4}, 10);  // 4 before, 5 after
  const std::vector<std::int64_t> expected = {2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(source_position(extent, 1, static_cast<std::int64_t>(i)), expected[i]) << i;
  }
}

TEST(Padding, ReflectionOfASingleVoxelRepeatsIt) {
  const PaddedExtent extent = whole(Padding::reflect, {1, 1, 1}, 5);
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(source_position(extent, 0, i), 0);
}

TEST(Padding, TheEdgeStandsForAllBeyondIt) {
  const PaddedExtent extent = whole(Padding::edge, {3, 3, 3}, 6);  // 2 before, 3 after
  const std::vector<std::int64_t> expected = {0, 0, 0, 1, 2, 2, 2, 2};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(source_position(extent, 2, static_cast<std::int64_t>(i)), expected[i]) << i;
  }
  EXPECT_EQ(source_position(whole(Padding::edge, {1, 1, 1}, 3), 0, 2), 0);
}

TEST(Padding, ZeroReadsNothingOutside) {
  const PaddedExtent extent = whole(Padding::zero, {3, 3, 3}, 4);
  EXPECT_EQ(source_position(extent, 0, 0), std::nullopt);
  EXPECT_EQ(source_position(extent, 0, 1), 0);
  EXPECT_EQ(source_position(extent, 0, 4), std::nullopt);
}

// The box holds the fourth to the sixth of nine voxels; the net reads three more on either side.
TEST(Padding, ABoxHasTheVoxelsOfTheVolumeAroundIt) {
  const Box box{{3, 0, 7}, {6, 2, 9}};
  const PaddedExtent inside = pad(Padding::reflect, {9, 9, 9}, box, Vec3::cube(7));
  EXPECT_EQ(inside.outer, (Vec3{9, 8, 8}));
  for (std::int64_t at = 0; at < 9; ++at) EXPECT_EQ(source_position(inside, 0, at), at);
  const std::vector<std::int64_t> first = {3, 2, 1, 0, 1, 2, 3, 4};
  const std::vector<std::int64_t> last = {4, 5, 6, 7, 8, 7, 6, 5};
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(source_position(inside, 1, static_cast<std::int64_t>(i)), first[i]) << i;
    EXPECT_EQ(source_position(inside, 2, static_cast<std::int64_t>(i)), last[i]) << i;
  }
  EXPECT_EQ(read_box(inside), (Box{{0, 0, 4}, {9, 5, 9}}));
  EXPECT_EQ(read_box(pad(Padding::none, {9, 9, 9}, box, Vec3::cube(2))), box);
}

TEST(Padding, NamesRoundTripAndOthersAreRefused) {
  for (const char* name : {"none", "zero", "reflect", "edge"}) EXPECT_EQ(to_string(*parse_padding(name)), name);
  EXPECT_EQ(parse_padding("mirror").error().message, "--padding mirror: use none, zero, reflect or edge");
}

}  // namespace
}  // namespace znni::client
