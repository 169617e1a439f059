// Networks that pad without their padding: what becomes of their nodes. tests/server/pipeline/unpadded_test.cpp
// computes both.
#include "planner/network/made_valid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/padding.hpp"

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Border same(std::int64_t border) { return {Vec3::cube(border), Vec3::cube(border)}; }

Node conv_node(std::string name, std::int64_t k, int input) {
  return {std::move(name), Convolution{2, Vec3::cube(k), Vec3::cube(1), {}}, {input}};
}

LoadedNetwork padded_network(std::vector<Node> nodes, const std::vector<Border>& pads) {
  Network network;
  network.f_in = 2;
  network.nodes = std::move(nodes);
  const NetworkWeights weights = random_weights(network, 1);
  Result<LoadedNetwork> padded = without_padding({network, weights}, pads);
  EXPECT_TRUE(padded) << padded.error().message;
  return *std::move(padded);
}

MadeValid made_of(const LoadedNetwork& padded) {
  Result<MadeValid> made = make_valid(padded);
  EXPECT_TRUE(made) << made.error().message;
  EXPECT_FALSE(has_padding(made->loaded.network));
  EXPECT_TRUE(check_weights(made->loaded.network, made->loaded.weights));
  return *std::move(made);
}

ValidChange unpadded(const std::string& node) { return {node, ValidChangeKind::unpadded, same(1)}; }

// Two convolutions, and their sum with what they read.
LoadedNetwork residual_block() {
  return padded_network({conv_node("first", 3, 0), conv_node("a", 3, 1), conv_node("b", 3, 2), {"sum", Add{}, {1, 3}}},
                        {same(1), same(1), same(1), {}});
}

TEST(PlannerMadeValid, AValidNetworkStaysAsItIs) {
  const LoadedNetwork net = padded_network({conv_node("a", 3, 0)}, {Border{}});
  EXPECT_FALSE(has_padding(net.network));
  const MadeValid made = made_of(net);
  EXPECT_EQ(made.loaded.network, net.network);
  EXPECT_THAT(made.changes, IsEmpty());
}

TEST(PlannerMadeValid, ASkippedBranchIsCroppedInTheMiddle) {
  EXPECT_TRUE(has_padding(residual_block().network));
  const MadeValid made = made_of(residual_block());
  EXPECT_THAT(made.changes, ElementsAre(unpadded("first"), unpadded("a"), unpadded("b"),
                                        ValidChange{"sum", ValidChangeKind::input_cropped, same(2), 0}));
  EXPECT_EQ(made.first, Vec3::cube(3));
  EXPECT_TRUE(is_dense(made.loaded.network));
  EXPECT_EQ(reaches(made.loaded.network).back().fov, Vec3::cube(7));
}

TEST(PlannerMadeValid, PoolingsReadTheSameVoxelsAsBefore) {
  // Two levels: as the lower one's pooling begins at an even voxel, so must its input, and that of the network.
  const MadeValid made = made_of(padded_network({conv_node("a", 5, 0),
                                                 {"pool1", Pooling{}, {1}},
                                                 conv_node("b", 5, 2),
                                                 {"pool2", Pooling{}, {3}},
                                                 {"up2", Upsample{}, {4}},
                                                 {"cat2", Concat{}, {3, 5}},
                                                 {"up1", Upsample{}, {6}},
                                                 {"cat1", Concat{}, {1, 7}}},
                                                {same(2), {}, same(2), {}, {}, {}, {}, {}}));
  EXPECT_EQ(made.changes.front(), (ValidChange{"input", ValidChangeKind::input_cropped, same(2)}));
  EXPECT_EQ(min_extent(made.loaded.network) % period(made.loaded.network), Vec3{});
  EXPECT_EQ(made.first, Vec3::cube(8));
  EXPECT_EQ(lost_extent(made.loaded.network), Vec3::cube(17));
}

TEST(PlannerMadeValid, ADenseNetworkBeginsWhereItLikes) {
  const MadeValid made = made_of(
      padded_network({conv_node("a", 3, 0), {"pool", Pooling{}, {1}}, conv_node("b", 3, 2)}, {same(1), {}, same(1)}));
  EXPECT_THAT(made.changes, ElementsAre(unpadded("a"), unpadded("b")));
  EXPECT_TRUE(is_dense(made.loaded.network));
  EXPECT_EQ(made.loaded.network.output_stride, Vec3::cube(1));
  EXPECT_EQ(made.step, Vec3::cube(2));
  EXPECT_EQ(made.first, Vec3::cube(3));
}

TEST(PlannerMadeValid, APadOfItsOwnIsRemoved) {
  LoadedNetwork net = padded_network({conv_node("pad", 1, 0), conv_node("b", 3, 1)}, {same(1), {}});
  net.weights.front() = {{1, 0, 0, 1}, {}, {}, {}};
  const MadeValid made = made_of(net);
  EXPECT_THAT(made.changes, ElementsAre(ValidChange{"pad", ValidChangeKind::removed, same(1)}));
  ASSERT_EQ(made.loaded.network.nodes.size(), 1U);
  EXPECT_EQ(made.loaded.network.nodes.front().inputs, std::vector<int>{0});
}

TEST(PlannerMadeValid, WithoutPadsAllVoxelsOfAWindowAreInside) {
  const Pooling mean{PoolKind::average_inside, Vec3::cube(3), Vec3::cube(1)};
  const MadeValid made = made_of(padded_network({conv_node("a", 3, 0), {"mean", mean, {1}}}, {same(1), same(1)}));
  EXPECT_EQ(std::get<Pooling>(made.loaded.network.nodes.back().operation).kind, PoolKind::average);
}

TEST(PlannerMadeValid, APadThatReflectsIsRemoved) {
  const MadeValid made = made_of(padded_network({conv_node("a", 1, 0),
                                                 {"reflect", Crop{Vec3::cube(2), Vec3::cube(2), true}, {1}},
                                                 {"pool", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(1)}, {2}}},
                                                {{}, same(3), {}}));
  EXPECT_THAT(made.changes, ElementsAre(ValidChange{"reflect", ValidChangeKind::removed, same(1)}));
  EXPECT_EQ(made.loaded.network.nodes.size(), 2U);
}

TEST(PlannerMadeValid, ACropTakesWhatIsLeftToIt) {
  // "a" is read besides, of voxel 1 on.
  const MadeValid made = made_of(padded_network({conv_node("a", 3, 0),
                                                 {"crop", Crop{Vec3::cube(3), Vec3::cube(1)}, {1}},
                                                 {"same", Crop{Vec3::cube(2), Vec3::cube(2)}, {1}},
                                                 {"sum", Add{}, {2, 3}},
                                                 conv_node("last", 3, 4)},
                                                {same(1), {}, {}, {}, same(1)}));
  EXPECT_THAT(made.changes,
              ElementsAre(ValidChange{"input", ValidChangeKind::input_cropped, {Vec3::cube(1), {}}}, unpadded("a"),
                          ValidChange{"crop", ValidChangeKind::output_cropped, {Vec3::cube(1), {}}},
                          ValidChange{"same", ValidChangeKind::output_cropped, {{}, Vec3::cube(1)}}, unpadded("last")));
}

TEST(PlannerMadeValid, WhatNothingElseReadsIsNotComputed) {
  const MadeValid made = made_of(
      padded_network({conv_node("a", 3, 0), {"crop", Crop{Vec3::cube(3), Vec3::cube(1)}, {1}}, conv_node("b", 3, 2)},
                     {same(1), {}, same(1)}));
  EXPECT_THAT(made.changes,
              ElementsAre(ValidChange{"input", ValidChangeKind::input_cropped, {Vec3::cube(2), {}}}, unpadded("a"),
                          ValidChange{"crop", ValidChangeKind::output_cropped, {}}, unpadded("b")));
  EXPECT_EQ(made.loaded.network.nodes.size(), 3U);
  EXPECT_EQ(made.first, Vec3::cube(1));
}

TEST(PlannerMadeValid, WhatInterpolatesIsCroppedBehind) {
  const MadeValid made = made_of(padded_network(
      {conv_node("a", 3, 0), {"pool", Pooling{}, {1}}, {"linear", Upsample{Vec3::cube(2), UpsampleKind::linear}, {2}}},
      {same(1), {}, same(1)}));
  EXPECT_EQ(made.changes.back(), (ValidChange{"output", ValidChangeKind::input_cropped, same(2)}));
}

TEST(PlannerMadeValid, OutputsOfTwoResolutionsBeginAtOneVoxel) {
  Network network;
  network.f_in = 2;
  network.outputs = {{"fine", 2}, {"coarse", 2}};
  network.nodes = {conv_node("a", 3, 0),      {"pool", Pooling{}, {1}},   conv_node("low", 3, 2),
                   {"up", Upsample{}, {3}},   {"both", Concat{}, {1, 4}}, conv_node("b", 3, 5),
                   {"join", Concat{}, {6, 3}}};
  const Result<LoadedNetwork> padded =
      without_padding({network, random_weights(network, 1)}, {same(1), {}, same(1), {}, {}, same(1), {}});
  ASSERT_TRUE(padded) << padded.error().message;
  const MadeValid made = made_of(*padded);
  // "b" has lost 5 voxels, and "low" 2, of which each counts twice: 6 and 3. But "b" is computed of all that is left.
  EXPECT_EQ(made.first, Vec3::cube(6));
  EXPECT_EQ(made.loaded.network.outputs.back().stride, Vec3::cube(2));
  EXPECT_EQ(made.changes.back(), (ValidChange{"coarse", ValidChangeKind::input_cropped, same(1)}));
}

TEST(PlannerMadeValid, ANetworkThatNormalisesIsRefused) {
  const Result<MadeValid> made =
      make_valid(padded_network({conv_node("a", 3, 0), {"norm", Norm{}, {1}}}, {same(1), {}}));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::unsupported);
  EXPECT_THAT(made.error().message, HasSubstr("node norm normalises over all voxels of its window"));
}

TEST(PlannerMadeValid, ANetworkThatDoesNothingButPadIsRefused) {
  LoadedNetwork net = padded_network({conv_node("pad", 1, 0)}, {same(1)});
  net.weights.front() = {{1, 0, 0, 1}, {}, {}, {}};
  EXPECT_FALSE(make_valid(net));
}

}  // namespace
}  // namespace znni
