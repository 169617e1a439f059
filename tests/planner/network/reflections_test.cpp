#include "planner/network/reflections.hpp"

#include <gtest/gtest.h>

#include "planner/network/padding.hpp"

namespace znni {
namespace {

constexpr Vec3 one = Vec3::cube(1);

// A convolution, a crop that reflects a voxel at every side, and `reader` of that.
LoadedNetwork reflecting(const Operation& reader) {
  Network network;
  network.nodes = {{"first", Convolution{1, one, one, {}}, {0}},
                   {"pad", Crop{Vec3::cube(2), Vec3::cube(2), true}, {1}},
                   {"reader", reader, {2}}};
  return {network, {}};
}
const std::vector<Border> pads = {{}, {Vec3::cube(3), Vec3::cube(3)}, {}};

TEST(Reflections, AConvolutionWhoseWindowHoldsBothVoxelsTakesThemIn) {
  LoadedNetwork loaded = reflecting(Convolution{1, Vec3::cube(3), one, {}});
  std::vector<Border> left = pads;
  EXPECT_EQ(take_in_reflections(loaded, left), (std::vector{OutsideKind::zero, OutsideKind::reflect}));
  EXPECT_EQ(left, (std::vector<Border>{{}, {one, one}}));
  EXPECT_EQ(loaded.network.nodes[1].inputs, std::vector{1});
}

TEST(Reflections, OthersReadTheCropThatReflects) {
  const std::vector kinds = {OutsideKind::zero, OutsideKind::reflect, OutsideKind::zero};
  std::vector<Border> left = pads;
  LoadedNetwork narrow = reflecting(Convolution{1, {3, 2, 3}, one, {}});
  EXPECT_EQ(take_in_reflections(narrow, left), kinds);
  LoadedNetwork pooled = reflecting(Pooling{PoolKind::average, Vec3::cube(3), one});
  EXPECT_EQ(take_in_reflections(pooled, left), kinds);
  LoadedNetwork twice = reflecting(Convolution{1, Vec3::cube(3), one, {}});
  twice.network.nodes.push_back({"sum", Convolution{1, Vec3::cube(3), one, {}}, {2}});
  left.emplace_back();
  EXPECT_EQ(take_in_reflections(twice, left).size(), 4U);
  left.pop_back();
  LoadedNetwork padded = reflecting(Convolution{1, Vec3::cube(3), one, {}});
  left[2] = {one, one};
  EXPECT_EQ(take_in_reflections(padded, left), kinds);
}

TEST(Reflections, VolumesAreAsLargeAsStridesMakeThem) {
  LoadedNetwork loaded = reflecting(Convolution{1, Vec3::cube(3), one, {}});
  loaded.network.nodes[0].operation = Convolution{1, Vec3::cube(2), one, {}, Vec3::cube(2)};
  std::vector<Border> left = pads;
  const std::vector<OutsideKind> kinds = take_in_reflections(loaded, left);
  const std::vector<Vec3> extents = {Vec3::cube(100), Vec3::cube(50), Vec3::cube(50)};
  EXPECT_EQ(*find_min_volume(loaded.network, left, kinds, extents, {}), Vec3::cube(4));
  EXPECT_EQ(*find_min_volume(loaded.network, left, kinds, extents, {0, 4, 5}), Vec3::cube(4));
  const Result<Vec3> few = find_min_volume(loaded.network, left, kinds, extents, {0, 4, 2});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().message,
            "node reader reflects 1 voxel along x, and of the declared input of 2 voxels it has too few; 4 or more are "
            "right");
}

TEST(Reflections, SmallerVolumesAreRefused) {
  const Network network = without_padding(reflecting(Convolution{1, Vec3::cube(3), one, {}}), pads).value().network;
  EXPECT_EQ(network.min_volume, Vec3::cube(2));
  EXPECT_TRUE(check_volume(network, Vec3::cube(2)));
  EXPECT_FALSE(check_volume(network, {2, 1, 2}));
}

}  // namespace
}  // namespace znni
