#include "planner/network/reflections.hpp"

#include <gtest/gtest.h>

#include "planner/geometry/geometry.hpp"
#include "planner/network/padding.hpp"

namespace znni {
namespace {

constexpr Vec3 one = Vec3::cube(1);

// Returns a convolution, a crop that reflects a voxel at every side, and `reader` of that.
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
  EXPECT_EQ(take_in_reflections(loaded, left).kinds, (std::vector{OutsideKind::zero, OutsideKind::reflect}));
  EXPECT_EQ(left, (std::vector<Border>{{}, {one, one}}));
  EXPECT_EQ(loaded.network.nodes[1].inputs, std::vector{1});
}

TEST(Reflections, OthersReadTheCropThatReflects) {
  const std::vector kinds = {OutsideKind::zero, OutsideKind::reflect, OutsideKind::zero};
  std::vector<Border> left = pads;
  LoadedNetwork narrow = reflecting(Convolution{1, {3, 2, 3}, one, {}});
  EXPECT_EQ(take_in_reflections(narrow, left).kinds, kinds);
  LoadedNetwork pooled = reflecting(Pooling{PoolKind::average, Vec3::cube(3), one});
  EXPECT_EQ(take_in_reflections(pooled, left).kinds, kinds);
  LoadedNetwork twice = reflecting(Convolution{1, Vec3::cube(3), one, {}});
  twice.network.nodes.push_back({"sum", Convolution{1, Vec3::cube(3), one, {}}, {2}});
  left.emplace_back();
  EXPECT_EQ(take_in_reflections(twice, left).kinds.size(), 4U);
  left.pop_back();
  LoadedNetwork padded = reflecting(Convolution{1, Vec3::cube(3), one, {}});
  left[2] = {one, one};
  EXPECT_EQ(take_in_reflections(padded, left).kinds, kinds);
}

TEST(Reflections, VolumesAreAsLargeAsStridesMakeThem) {
  LoadedNetwork loaded = reflecting(Convolution{1, Vec3::cube(3), one, {}});
  loaded.network.nodes[0].operation = Convolution{1, Vec3::cube(2), one, {}, Vec3::cube(2)};
  std::vector<Border> left = pads;
  const NodePads own = take_in_reflections(loaded, left);
  EXPECT_EQ(own.names, (std::vector<std::string>{"first", "pad"}));
  const std::vector<Vec3> extents = {Vec3::cube(100), Vec3::cube(50), Vec3::cube(50)};
  EXPECT_EQ(*find_min_volume(loaded.network, left, own, extents, {}), Vec3::cube(4));
  EXPECT_EQ(*find_min_volume(loaded.network, left, own, extents, {0, 4, 5}), Vec3::cube(4));
  const Result<Vec3> few = find_min_volume(loaded.network, left, own, extents, {0, 4, 2});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().message,
            "node pad reflects 1 voxel along x, and of the declared input of 2 voxels it has too few; 4 or more are "
            "right");
}

TEST(Reflections, ACropThatReflectsReadsVoxelsWithTheirCopies) {
  const Vec3 half = Vec3::cube(2);
  const Border around{half + one, half + one};
  const auto padded = [&](const Crop& crop, std::int64_t k) {
    Network network;
    network.nodes = {{"a", Convolution{2, Vec3::cube(3), one, {}}, {0}},
                     {"pad", crop, {1}},
                     {"b", Convolution{2, Vec3::cube(k), one, {}}, {2}}};
    return without_padding({network, {}}, {{}, around, {}});
  };
  const Result<LoadedNetwork> valid = padded({half, half, true}, 2);
  ASSERT_TRUE(valid) << valid.error().message;
  EXPECT_TRUE(check(valid->network)) << check(valid->network).error().message;
  EXPECT_EQ(valid->network.nodes[0].outside_kind, OutsideKind::reflect);
  EXPECT_EQ(valid->network.nodes[1].operation, Operation(Crop{half, half}));
  EXPECT_EQ(valid->network.min_volume, Vec3::cube(4));
  EXPECT_EQ(min_extent(valid->network), Vec3::cube(4) + valid->network.frame.begin + valid->network.frame.end);
  const Result<LoadedNetwork> taken_in = padded({half, half, true}, 3);
  ASSERT_TRUE(taken_in) << taken_in.error().message;
  EXPECT_EQ(taken_in->network.nodes.size(), 2U);
  const Result<LoadedNetwork> narrow = padded({one, half, true}, 2);
  ASSERT_FALSE(narrow);
  EXPECT_NE(narrow.error().message.find("halved, as it reflects"), std::string::npos) << narrow.error().message;
}

// Returns a convolution of stride 2, a convolution that pads by 3, with what is reflected or with zeros, and an
// upsampling by 2.
Network strided_and_reflecting(bool reflects) {
  const Convolution coarse{1, Vec3::cube(2), one, {}, Vec3::cube(2)};
  const Convolution wide{1, Vec3::cube(7), one, {}};
  Network network;
  network.nodes = {{"first", coarse, {0}}};
  std::vector<Border> around = {{}};
  const Vec3 both = Vec3::cube(6);
  if (reflects) {
    network.nodes.push_back({"pad", Crop{both, both, true}, {1}});
    around.push_back({both + Vec3::cube(3), both + Vec3::cube(3)});
  }
  const int last = static_cast<int>(network.nodes.size());
  network.nodes.push_back({"wide", wide, {last}});
  network.nodes.push_back({"up", Upsample{}, {last + 1}});
  around.push_back(reflects ? Border{} : Border{Vec3::cube(3), Vec3::cube(3)});
  around.emplace_back();
  return without_padding({network, {}}, around).value().network;
}

TEST(Reflections, PatchesAreAsSmallAsWithZerosOutside) {
  const Network reflecting = strided_and_reflecting(true);
  const Network zeros = strided_and_reflecting(false);
  ASSERT_GT(min_extent(reflecting).y, min_extent(zeros).y);
  const std::vector<PoolingMode> none;
  EXPECT_EQ(legal_extents(reflecting, none, 1, 60), legal_extents(zeros, none, 1, 60));
}

TEST(Reflections, TheVolumeThatIsNamedFitsTheStrides) {
  Network network = strided_and_reflecting(true);
  EXPECT_EQ(network.min_volume, Vec3::cube(8));
  network.min_volume.y = 9;
  const Result<void> small = check_volume(network, {8, 6, 8});
  ASSERT_FALSE(small);
  EXPECT_TRUE(small.error().message.ends_with("needs at least 10")) << small.error().message;
  EXPECT_TRUE(check_volume(network, {8, 10, 8}));
}

TEST(Reflections, TheDeclaredInputIsToldWhatFitsTheStrides) {
  LoadedNetwork loaded = reflecting(Convolution{1, Vec3::cube(3), one, {}});
  loaded.network.nodes[0].operation = Convolution{1, one, one, {}, Vec3::cube(4)};
  loaded.network.nodes.push_back({"coarser", Convolution{1, one, one, {}, {1, 1, 8}}, {0}});
  const std::vector<Vec3> extents = {Vec3::cube(99), Vec3::cube(25), Vec3::cube(27)};
  const NodePads own{{OutsideKind::zero, OutsideKind::reflect, OutsideKind::zero, OutsideKind::zero},
                     {"first", "pad", "reader", "coarser"}};
  std::vector<Border> left = pads;
  left.emplace_back();
  const Result<Vec3> few = find_min_volume(loaded.network, left, own, extents, {0, 0, 3});
  ASSERT_FALSE(few);
  EXPECT_NE(few.error().message.find("11 or more are right"), std::string::npos) << few.error().message;
}

// Returns what reflects a voxel at each side of the volume, and a convolution of that in windows of k voxels.
Network valid_form(std::int64_t k) {
  Network network;
  network.frame = {one, one};
  network.nodes = {{"a", Convolution{1, one, one, {}}, {0}, {one, one}, OutsideKind::reflect, {one, one}},
                   {"b", Convolution{1, Vec3::cube(k), one, {}}, {1}}};
  network.min_volume = Vec3::cube(2);
  return network;
}

TEST(Reflections, TheSmallestVolumeHasTheVoxelsThatAreReflected) {
  Network network = valid_form(3);
  EXPECT_TRUE(check(network)) << check(network).error().message;
  network.min_volume.y = 1;
  ASSERT_FALSE(check(network));
  EXPECT_EQ(check(network).error().message,
            "node a reflects 1 voxel along y, and of a volume of 1 voxel it has too few; a min_volume of 2 or more is "
            "right");
  network.nodes[0].outside.begin.y = network.nodes[0].outside.end.y = 0;
  EXPECT_TRUE(check(network)) << "nothing is reflected along y";
}

TEST(Reflections, ReadersHaveVoxelsAndTheirCopiesInAWindow) {
  Network network = valid_form(3);
  std::get<Convolution>(network.nodes[1].operation).k.x = 2;
  network.nodes[1].beyond.begin.x = 1;
  network.nodes.push_back({"c", Convolution{1, {1, 1, 2}, one, {}}, {2}});
  network.min_volume.x = 8;
  ASSERT_FALSE(check(network));
  EXPECT_NE(check(network).error().message.find("and node b reads 2 together; 3 or more are right"), std::string::npos)
      << check(network).error().message;
}

TEST(Reflections, SmallerVolumesAreRefused) {
  const Network network = without_padding(reflecting(Convolution{1, Vec3::cube(3), one, {}}), pads).value().network;
  EXPECT_EQ(network.min_volume, Vec3::cube(2));
  EXPECT_TRUE(check_volume(network, Vec3::cube(2)));
  EXPECT_FALSE(check_volume(network, {2, 1, 2}));
}

}  // namespace
}  // namespace znni
