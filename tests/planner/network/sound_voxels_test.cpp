// Which voxels of a padded network depend on no padding.
#include "planner/network/sound_voxels.hpp"

#include <gtest/gtest.h>

#include "planner/network/padding.hpp"

namespace znni {
namespace {

Border same(std::int64_t border) { return {Vec3::cube(border), Vec3::cube(border)}; }

Node conv_node(std::string name, std::int64_t k, int input) {
  return {std::move(name), Convolution{2, Vec3::cube(k), Vec3::cube(1), {}}, {input}};
}

LoadedNetwork padded_network(std::vector<Node> nodes, const std::vector<Border>& pads) {
  Network network;
  network.f_in = 2;
  network.nodes = std::move(nodes);
  Result<LoadedNetwork> padded = without_padding({network, {}}, pads);
  EXPECT_TRUE(padded) << padded.error().message;
  return *std::move(padded);
}

// A convolution, a level below with one of its own, and a concatenation.
LoadedNetwork u_net() {
  return padded_network({conv_node("fine", 3, 0),
                         {"pool", Pooling{}, {1}},
                         conv_node("coarse", 3, 2),
                         {"up", Upsample{}, {3}},
                         {"both", Concat{}, {1, 4}}},
                        {same(1), {}, same(1), {}, {}});
}

int number_of(const LoadedNetwork& loaded, const std::string& name) {
  return static_cast<int>(find_node(loaded.network, name).value());
}

TEST(PlannerSoundVoxels, PadsAreThoseOfTheFile) {
  const LoadedNetwork net = u_net();
  for (const char* name : {"fine", "coarse"}) {
    EXPECT_EQ(file_reading(net.network, number_of(net, name)).pads, same(1)) << name;
  }
  EXPECT_EQ(file_reading(net.network, number_of(net, "pool")).pads, Border{});
  EXPECT_EQ(file_reading(net.network, number_of(net, "up")).factor, Vec3::cube(2));
}

TEST(PlannerSoundVoxels, TheOutputLosesWhatPaddingReaches) {
  const LoadedNetwork net = u_net();
  const SoundVoxels sound(net);
  // Of "fine" the first voxel is lost, so the first of "pool", the first two of "coarse", and four of "up".
  EXPECT_EQ(sound.needed(sound.outputs().front()), same(4));
  EXPECT_EQ(sound.first(), Vec3::cube(4));
  EXPECT_FALSE(sound.is_dense());
  EXPECT_EQ(sound.step(), Vec3::cube(1));
}

TEST(PlannerSoundVoxels, WhatIsNeededIsReadAgainFromTheOutput) {
  const LoadedNetwork net = u_net();
  const SoundVoxels sound(net);
  const int coarse = number_of(net, "coarse");
  EXPECT_EQ(sound.needed(coarse + 1), same(2));
  EXPECT_EQ(sound.read_by(coarse), same(1));
  EXPECT_EQ(sound.needed(number_of(net, "fine") + 1), same(2));  // of the pooling, which begins at an even voxel
  EXPECT_EQ(sound.needed(0), same(1));
}

TEST(PlannerSoundVoxels, ANetworkThatOnlyPoolsIsDense) {
  const LoadedNetwork net =
      padded_network({conv_node("a", 3, 0), {"pool", Pooling{}, {1}}, conv_node("b", 3, 2)}, {same(1), {}, same(1)});
  const SoundVoxels sound(net);
  EXPECT_TRUE(sound.is_dense());
  EXPECT_EQ(sound.step(), Vec3::cube(2));
  EXPECT_EQ(sound.needed(0), same(1));
  EXPECT_EQ(sound.first(), Vec3::cube(3));  // the voxel 2 of the file's, twice each, read from voxel 1 on
  EXPECT_FALSE(sound.is_needed(static_cast<int>(net.network.nodes.size())));  // what is repeated
}

TEST(PlannerSoundVoxels, InterpolationsKeepTheirPads) {
  const LoadedNetwork net = padded_network(
      {conv_node("a", 3, 0), {"pool", Pooling{}, {1}}, {"linear", Upsample{Vec3::cube(2), UpsampleKind::linear}, {2}}},
      {same(1), {}, same(1)});
  const SoundVoxels sound(net);
  EXPECT_TRUE(sound.keeps_pads(number_of(net, "linear")));
  EXPECT_FALSE(sound.keeps_pads(number_of(net, "a")));
  EXPECT_EQ(sound.needed(sound.outputs().front()), same(4));
}

TEST(PlannerSoundVoxels, TransposedConvolutionsKeepTheirs) {
  const LoadedNetwork net = padded_network({{"a", Pooling{}, {0}},
                                            {"taps", Convolution{16, Vec3::cube(2), Vec3::cube(1), {}}, {1}},
                                            {"shuffle", Upsample{Vec3::cube(2), UpsampleKind::shuffle}, {2}},
                                            {"crop", Crop{Vec3::cube(1), Vec3::cube(1)}, {3}}},
                                           {{}, same(1), {}, {}});
  const SoundVoxels sound(net);
  EXPECT_TRUE(sound.keeps_pads(number_of(net, "taps")));
  EXPECT_TRUE(sound.shuffles_kept(number_of(net, "shuffle")));
  EXPECT_FALSE(sound.shuffles_kept(number_of(net, "taps")));
}

TEST(PlannerSoundVoxels, ACopyOfOneVoxelThatPadsOnlyPads) {
  LoadedNetwork net = padded_network({conv_node("pad", 1, 0), conv_node("b", 3, 1)}, {same(1), {}});
  EXPECT_FALSE(SoundVoxels(net).only_pads(0));  // of unknown kernels
  net.weights = {{{1, 0, 0, 1}, {}, {}, {}}, {std::vector<float>(108), {}, {}, {}}};
  EXPECT_TRUE(SoundVoxels(net).only_pads(0));
  EXPECT_FALSE(SoundVoxels(net).only_pads(1));
  net.weights.front().kernels = {1, 0, 0, 2};
  EXPECT_FALSE(SoundVoxels(net).only_pads(0));
}

}  // namespace
}  // namespace znni
