// Padded networks as valid ones: which crops and borders that takes.
#include "planner/network/padding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/graph_passes.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

Border same(std::int64_t border) { return {Vec3::cube(border), Vec3::cube(border)}; }

Node conv_node(std::string name, std::int64_t k, int input) {
  return {std::move(name), Convolution{2, Vec3::cube(k), Vec3::cube(1), {}}, {input}};
}

Network network_of(std::vector<Node> nodes) {
  Network network;
  network.f_in = 2;
  network.nodes = std::move(nodes);
  return network;
}

// Returns a convolution of the input, two more, and their sum with what they read.
Network residual_block() {
  return network_of({conv_node("first", 3, 0),
                     conv_node("a", 3, 1),
                     conv_node("b", 3, 2),
                     {"sum", Add{}, {1, 3}},
                     conv_node("last", 1, 4)});
}

Network framed_block() {
  const Result<LoadedNetwork> valid = without_padding({residual_block(), {}}, {same(1), same(1), same(1), {}, {}});
  EXPECT_TRUE(valid) << valid.error().message;
  return valid->network;
}

TEST(PlannerPadding, ValidNetworksStayAsTheyAre) {
  const Network network = network_of({conv_node("a", 3, 0), conv_node("b", 1, 1)});
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {Border{}, Border{}});
  ASSERT_TRUE(valid);
  EXPECT_EQ(valid->network, network);
}

TEST(PlannerPadding, TheFrameIsAsWideAsAllPaddingTogether) {
  const Network valid = framed_block();
  EXPECT_EQ(valid.frame, same(3));
  EXPECT_TRUE(check(valid)) << check(valid).error().message;
  EXPECT_EQ(reaches(valid).back().fov, Vec3::cube(7));
  EXPECT_EQ(lost_extent(valid), Vec3::cube(1));
  EXPECT_EQ(framed(valid, {10, 20, 30}), (Vec3{16, 26, 36}));
}

TEST(PlannerPadding, BranchesMeetBehindACrop) {
  const Network valid = framed_block();
  ASSERT_EQ(valid.nodes.size(), 6U);
  EXPECT_EQ(valid.nodes[3].operation, Operation(Crop{Vec3::cube(2), Vec3::cube(2)}));
  EXPECT_EQ(valid.nodes[3].name, "sum crop");
  EXPECT_EQ(valid.nodes[3].inputs, std::vector<int>{1});
  EXPECT_EQ(valid.nodes[4].inputs, (std::vector<int>{4, 3}));
}

TEST(PlannerPadding, OutsideIsZeroWhereAReaderPads) {
  const Network valid = framed_block();
  EXPECT_EQ(valid.nodes[0].outside, same(2));  // read by "a"
  EXPECT_EQ(valid.nodes[1].outside, same(1));  // read by "b"
  for (const std::size_t node : {2U, 3U, 4U, 5U}) EXPECT_EQ(valid.nodes[node].outside, Border{}) << node;
}

TEST(PlannerPadding, NodesKnowHowFarTheyReachBeyondTheVolume) {
  const Network valid = framed_block();
  EXPECT_EQ(valid.nodes[0].beyond, same(2));
  EXPECT_EQ(valid.nodes[1].beyond, same(1));
  for (const std::size_t node : {2U, 3U, 4U, 5U}) EXPECT_EQ(valid.nodes[node].beyond, Border{}) << node;
}

TEST(PlannerPadding, AxesAndEndsArePaddedByThemselves) {
  const Border pads{{0, 2, 0}, {0, 1, 3}};
  const Result<LoadedNetwork> valid =
      without_padding({network_of({conv_node("a", 1, 0), conv_node("b", 4, 1)}), {}}, {Border{}, pads});
  ASSERT_TRUE(valid) << valid.error().message;
  EXPECT_EQ(valid->network.frame, pads);
  EXPECT_EQ(valid->network.nodes[0].outside, pads);
  EXPECT_EQ(lost_extent(valid->network), (Vec3{4, 1, 1}));
}

TEST(PlannerPadding, NodesThatAreTakenAwayLeaveWhatTheirReadersPad) {
  const Border planes{{0, 1, 1}, {0, 1, 1}};
  const Network network = network_of({conv_node("v", 1, 0),
                                      {"same", Activate{}, {1}},
                                      {"flat", Convolution{2, {1, 3, 3}, Vec3::cube(1), {}}, {2}},
                                      conv_node("full", 3, 1),
                                      {"sum", Add{}, {3, 4}}});
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {{}, {}, planes, same(1), {}});
  ASSERT_TRUE(valid) << valid.error().message;
  const LoadedNetwork folded = fold_and_fuse(*valid);
  EXPECT_EQ(folded.network.nodes[0].outside, same(1)) << describe(folded.network)[0];
}

TEST(PlannerPadding, WeightsStayBesideTheirNodes) {
  const Network network = residual_block();
  const NetworkWeights weights = random_weights(network, 1);
  const Result<LoadedNetwork> valid = without_padding({network, weights}, {same(1), same(1), same(1), {}, {}});
  ASSERT_TRUE(valid);
  EXPECT_TRUE(check_weights(valid->network, valid->weights))
      << check_weights(valid->network, valid->weights).error().message;
  EXPECT_EQ(valid->weights[2].kernels, weights[2].kernels);
  EXPECT_EQ(valid->weights[5].kernels, weights[4].kernels);
}

TEST(PlannerPadding, NamesOfCropsAreFree) {
  Network network = residual_block();
  network.nodes[0].name = "sum crop";
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {same(1), same(1), same(1), {}, {}});
  ASSERT_TRUE(valid);
  EXPECT_EQ(valid->network.nodes[3].name, "sum crop 2");
}

TEST(PlannerPadding, ACropThatPadsRepeatsTheEdges) {
  const Network network =
      network_of({conv_node("a", 3, 0), {"edges", Crop{Vec3::cube(2), Vec3::cube(2)}, {1}}, conv_node("b", 4, 2)});
  const Border pads{Vec3::cube(3), Vec3::cube(4)};
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {{}, pads, {}});
  ASSERT_TRUE(valid) << valid.error().message;
  EXPECT_TRUE(check(valid->network)) << check(valid->network).error().message;
  EXPECT_EQ(valid->network.nodes[0].outside, pads);
  EXPECT_EQ(valid->network.nodes[0].outside_kind, OutsideKind::edge);
  EXPECT_EQ(valid->network.nodes[1].operation, network.nodes[1].operation);
  EXPECT_EQ(lost_extent(valid->network), Vec3::cube(3));  // by a; b loses what the edges add
}

TEST(PlannerPadding, AnOutputWithAStrideIsRepeated) {
  const Network pooled = network_of({conv_node("output repeated", 3, 0), {"pool", Pooling{}, {1}}});
  const Result<LoadedNetwork> valid = without_padding({pooled, random_weights(pooled, 1)}, {same(1), {}});
  ASSERT_TRUE(valid) << valid.error().message;
  EXPECT_TRUE(check(valid->network)) << check(valid->network).error().message;
  EXPECT_TRUE(check_weights(valid->network, valid->weights));
  EXPECT_EQ(valid->network.output_stride, Vec3::cube(2));
  EXPECT_EQ(valid->network.nodes.back().name, "output repeated 2");
  EXPECT_EQ(valid->network.nodes.back().operation, Operation(Upsample{}));
  EXPECT_EQ(lost_extent(valid->network), Vec3::cube(1));
  EXPECT_EQ(period(valid->network), Vec3::cube(2));
}

// Returns heads of a padded net that pools twice, of which the coarsest is the first output.
Network supervised() {
  Network network = network_of({conv_node("fine", 3, 0),
                                {"pool", Pooling{}, {1}},
                                conv_node("half", 3, 2),
                                {"pool2", Pooling{}, {3}},
                                {"outputs", Concat{}, {4, 1, 3}}});
  network.outputs = {{"aux2", 2}, {"seg", 2}, {"aux1", 2}};
  return network;
}

TEST(PlannerPadding, OutputsOfSeveralStridesAreRepeatedBeforeTheyAreJoined) {
  const Network network = supervised();
  const Result<LoadedNetwork> valid =
      without_padding({network, random_weights(network, 1)}, {same(1), {}, same(1), {}, {}});
  ASSERT_TRUE(valid) << valid.error().message;
  EXPECT_TRUE(check(valid->network)) << check(valid->network).error().message;
  EXPECT_TRUE(check_weights(valid->network, valid->weights));
  EXPECT_EQ(valid->network.output_stride, Vec3::cube(1));
  EXPECT_EQ(valid->network.outputs,
            (std::vector<NamedTensor>{{"aux2", 2, Vec3::cube(4)}, {"seg", 2}, {"aux1", 2, Vec3::cube(2)}}));
  EXPECT_EQ(valid->network.nodes.back().name, "outputs");
  EXPECT_EQ(lost_extent(valid->network), Vec3::cube(1));
  EXPECT_EQ(period(valid->network), Vec3::cube(4));
  const LoadedNetwork fused = fold_and_fuse(*valid);
  EXPECT_TRUE(check(fused.network)) << check(fused.network).error().message;
}

TEST(PlannerPadding, OutputsOfOneStrideAreRepeatedTogether) {
  Network network = supervised();
  network.nodes.erase(network.nodes.begin() + 3);
  network.nodes.back().inputs = {3, 3, 2};
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {same(1), {}, same(1), {}});
  ASSERT_TRUE(valid) << valid.error().message;
  EXPECT_EQ(valid->network.output_stride, Vec3::cube(2));
  EXPECT_EQ(valid->network.outputs, network.outputs);
  EXPECT_EQ(valid->network.nodes.back().name, "output repeated");
}

TEST(PlannerPadding, OutputsThatDifferInMoreThanTheirStrideDoNotMeet) {
  Network network = supervised();
  network.nodes[3] = conv_node("valid", 3, 3);
  network.nodes.back().inputs = {4, 1};
  network.outputs = {{"aux", 2}, {"seg", 2}};
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {same(1), {}, same(1), {}, {}});
  ASSERT_FALSE(valid);
  EXPECT_THAT(valid.error().message, HasSubstr("node outputs: branches do not meet: of a volume of"));
}

TEST(PlannerPadding, OfOddVolumesTheLastVoxelsOfSeveralCoarseOutputsStandForLess) {
  Network network = network_of({conv_node("half", 3, 0), conv_node("quarter", 3, 1), {"outputs", Concat{}, {1, 2}}});
  for (std::size_t i : {0U, 1U}) std::get<Convolution>(network.nodes[i].operation).stride = Vec3::cube(2);
  network.outputs = {{"half", 2}, {"quarter", 2}};
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {same(1), same(1), {}}, Vec3::cube(15));
  ASSERT_TRUE(valid) << valid.error().message;
  EXPECT_TRUE(check(valid->network)) << check(valid->network).error().message;
  EXPECT_EQ(lost_extent(valid->network), Vec3::cube(1));
  EXPECT_TRUE(check_volume(valid->network, Vec3::cube(15)));
}

TEST(PlannerPadding, OfOddVolumesTheLastVoxelOfACoarseOutputStandsForLess) {
  Network network = network_of({conv_node("a", 3, 0)});
  std::get<Convolution>(network.nodes[0].operation).stride = Vec3::cube(2);
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {same(1)}, Vec3::cube(13));
  ASSERT_TRUE(valid) << valid.error().message;
  EXPECT_TRUE(check(valid->network)) << check(valid->network).error().message;
  EXPECT_EQ(lost_extent(valid->network), Vec3::cube(1));
  EXPECT_TRUE(check_volume(valid->network, Vec3::cube(13)));
  EXPECT_FALSE(check_volume(valid->network, Vec3::cube(14)));
}

TEST(PlannerPadding, ACoarseOutputWithAVoxelMoreThanTheVolumeHasIsRefused) {
  const Network network = network_of({{"pool", Pooling{}, {0}}});
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {same(1)});
  ASSERT_TRUE(valid) << valid.error().message;
  const Result<void> sound = check(valid->network);
  ASSERT_FALSE(sound);
  EXPECT_THAT(sound.error().message, HasSubstr("the output is larger than the volume"));
}

TEST(PlannerPadding, RefusesWhatIsNotDefinedOrNotThereYet) {
  const auto why = [](const Network& network, const std::vector<Border>& pads) {
    const Result<LoadedNetwork> valid = without_padding({network, {}}, pads);
    return valid ? "" : valid.error().message;
  };
  EXPECT_THAT(why(residual_block(), {same(1), same(1), {}, {}, {}}), HasSubstr("node sum: branches do not meet"));
  const Network act = network_of({{"act", Activate{}, {0}}});
  EXPECT_THAT(why(act, {same(1)}),
              HasSubstr("node act pads; convolutions, poolings, crops and linear upsamplings may"));
  const Network narrow = network_of({{"edges", Crop{Vec3::cube(1), Vec3::cube(1)}, {0}}});
  EXPECT_THAT(why(narrow, {same(3)}), HasSubstr("node edges crops by 1x1x1 and 1x1x1 what it pads by 3x3x3 and 3x3x3"));
  EXPECT_THAT(why(narrow, {{Vec3::cube(1), Vec3::cube(0)}}), HasSubstr("as much more as it crops at the other end"));
}

TEST(PlannerPadding, MaxPoolingsReadMinusInfinityOutside) {
  const Pooling pool{PoolKind::max, Vec3::cube(3), Vec3::cube(1)};
  const Network network = network_of({conv_node("a", 1, 0), {"pool", pool, {1}}, conv_node("last", 3, 2)});
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {{}, same(1), same(1)});
  ASSERT_TRUE(valid) << valid.error().message;
  ASSERT_EQ(valid->network.nodes.size(), 3U);
  EXPECT_EQ(valid->network.nodes[0].outside, same(2));
  EXPECT_EQ(valid->network.nodes[0].outside_kind, OutsideKind::lowest);
  EXPECT_EQ(valid->network.nodes[1].outside, same(1));
  EXPECT_EQ(valid->network.nodes[1].outside_kind, OutsideKind::zero);
}

TEST(PlannerPadding, MinusInfinityStaysInsideThePooling) {
  // The second pools along z alone; what the first left beyond y and x must not reach the convolution.
  const auto pool = [](Vec3 window) { return Pooling{PoolKind::max, window, Vec3::cube(1)}; };
  const Network network = network_of({conv_node("a", 1, 0),
                                      {"plane", pool({1, 3, 3}), {1}},
                                      {"line", pool({3, 1, 1}), {2}},
                                      {"z", Convolution{2, {3, 1, 1}, Vec3::cube(1), {}}, {3}},
                                      {"yx", Convolution{2, {1, 3, 3}, Vec3::cube(1), {}}, {4}}});
  const Border plane{{0, 1, 1}, {0, 1, 1}};
  const Border line{{1, 0, 0}, {1, 0, 0}};
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {{}, plane, line, line, plane});
  ASSERT_TRUE(valid) << valid.error().message;
  EXPECT_EQ(valid->network.nodes[2].outside, same(1));
  EXPECT_EQ(valid->network.nodes[2].outside_kind, OutsideKind::zero);
}

TEST(PlannerPadding, ACropWithZerosOutsideStays) {
  // Beyond the crop lie voxels of the volume, where its reader wants zeros.
  const Network network =
      network_of({{"crop", Crop{Vec3::cube(1), Vec3::cube(1)}, {0}}, conv_node("a", 3, 1), conv_node("b", 3, 2)});
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {{}, same(1), same(1)});
  ASSERT_TRUE(valid) << valid.error().message;
  const LoadedNetwork folded = fold_and_fuse(*valid);
  ASSERT_EQ(folded.network.nodes.size(), 3U);
  EXPECT_EQ(folded.network.nodes[0].operation, Operation(Crop{}));
  EXPECT_EQ(folded.network.nodes[0].outside, same(2));
}

TEST(PlannerPadding, PoolingsPadLessThanTheirWindow) {
  const Network network = network_of({{"pool", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(1)}, {0}}});
  EXPECT_THAT(without_padding({network, {}}, {same(2)}).error().message,
              HasSubstr("node pool pads by as much as its window, 2x2x2"));
}

TEST(PlannerPadding, WhatOthersReadAsZeroIsCopiedForAMaxPooling) {
  const Pooling pool{PoolKind::max, Vec3::cube(3), Vec3::cube(1)};
  const Network network =
      network_of({conv_node("a", 1, 0), {"pool", pool, {1}}, conv_node("b", 3, 1), {"sum", Add{}, {2, 3}}});
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {{}, same(1), same(1), {}});
  ASSERT_TRUE(valid) << valid.error().message;
  const LoadedNetwork folded = fold_and_fuse(*valid);
  ASSERT_EQ(folded.network.nodes.size(), 4U) << describe(folded.network)[1];
  EXPECT_EQ(folded.network.nodes[1].operation, Operation(Crop{}));
  EXPECT_EQ(folded.network.nodes[1].outside_kind, OutsideKind::lowest);
  EXPECT_EQ(folded.network.nodes[0].outside_kind, OutsideKind::zero);
}

// Returns a convolution, a convolution of stride 2 and a linear upsampling.
Network interpolated(std::vector<Node> behind = {}) {
  std::vector<Node> nodes = {{"down", Convolution{2, Vec3::cube(2), Vec3::cube(1), {}, Vec3::cube(2)}, {0}},
                             {"up", Upsample{Vec3::cube(2), UpsampleKind::linear}, {1}}};
  nodes.insert(nodes.end(), behind.begin(), behind.end());
  return network_of(std::move(nodes));
}

TEST(PlannerPadding, LinearUpsamplingsReadTheVoxelsAtTheBorderAgain) {
  const Result<LoadedNetwork> valid = without_padding({interpolated(), {}}, {{}, same(1)});
  ASSERT_TRUE(valid) << valid.error().message;
  ASSERT_EQ(valid->network.nodes.size(), 2U);
  EXPECT_EQ(valid->network.frame, same(2));
  EXPECT_EQ(valid->network.nodes[0].outside, same(1));
  EXPECT_EQ(valid->network.nodes[0].outside_kind, OutsideKind::edge);
  EXPECT_TRUE(check(valid->network)) << check(valid->network).error().message;
  EXPECT_EQ(lost_extent(valid->network), Vec3::cube(1));
}

TEST(PlannerPadding, LinearUpsamplingsAreValidWithoutPads) {
  const Result<LoadedNetwork> valid = without_padding({interpolated(), {}}, {{}, {}});
  ASSERT_TRUE(valid) << valid.error().message;
  EXPECT_EQ(valid->network.frame, Border{});
  EXPECT_EQ(valid->network.nodes[0].outside, Border{});
  EXPECT_EQ(lost_extent(valid->network), Vec3::cube(5));
  EXPECT_EQ(min_extent(valid->network), Vec3::cube(6));
}

TEST(PlannerPadding, WhatOthersReadAsZeroIsCopiedForALinearUpsampling) {
  const Network network = interpolated({conv_node("beside", 3, 1),
                                        {"up2", Upsample{Vec3::cube(2), UpsampleKind::nearest}, {3}},
                                        {"sum", Add{}, {2, 4}}});
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {{}, same(1), same(1), {}, {}});
  ASSERT_TRUE(valid) << valid.error().message;
  const LoadedNetwork folded = fold_and_fuse(*valid);
  EXPECT_EQ(folded.network.nodes[0].outside_kind, OutsideKind::zero);
  EXPECT_EQ(folded.network.nodes[0].outside, same(1));
  EXPECT_EQ(folded.network.nodes[1].operation, Operation(Crop{}));
  EXPECT_EQ(folded.network.nodes[1].outside, same(1));
  EXPECT_EQ(folded.network.nodes[1].outside_kind, OutsideKind::edge);
}

TEST(PlannerPadding, AnIdentityBeforeALinearUpsamplingStaysWhereOthersReadZeros) {
  const Network network = network_of({{"down", Convolution{2, Vec3::cube(2), Vec3::cube(1), {}, Vec3::cube(2)}, {0}},
                                      {"same", Activate{}, {1}},
                                      {"up", Upsample{Vec3::cube(2), UpsampleKind::linear}, {2}},
                                      conv_node("beside", 3, 1),
                                      {"up2", Upsample{Vec3::cube(2), UpsampleKind::nearest}, {4}},
                                      {"sum", Add{}, {3, 5}}});
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {{}, {}, same(1), same(1), {}, {}});
  ASSERT_TRUE(valid) << valid.error().message;
  const LoadedNetwork folded = fold_and_fuse(*valid);
  EXPECT_EQ(folded.network.nodes[0].outside_kind, OutsideKind::zero);
  EXPECT_EQ(folded.network.nodes[1].name, "same");
  EXPECT_EQ(folded.network.nodes[1].outside_kind, OutsideKind::edge);
}

TEST(PlannerPadding, WhatIsMovedBeforeALinearUpsamplingRepeatsTheBorder) {
  Network network = interpolated({{"norm", ScaleShift{}, {2}}});
  std::get<Convolution>(network.nodes[0].operation).activation.kind = ActivationKind::relu;
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {{}, same(1), {}});
  ASSERT_TRUE(valid) << valid.error().message;
  const LoadedNetwork folded = fold_and_fuse(*valid);
  EXPECT_EQ(folded.network.nodes[0].outside, Border{});
  EXPECT_EQ(folded.network.nodes[0].outside_kind, OutsideKind::zero);
  EXPECT_EQ(folded.network.nodes[1].name, "norm");
  EXPECT_EQ(folded.network.nodes[1].outside, same(1));
  EXPECT_EQ(folded.network.nodes[1].outside_kind, OutsideKind::edge);
}

TEST(PlannerPadding, LinearUpsamplingsPadByOneVoxelWhereTheyInterpolate) {
  Network network = interpolated();
  EXPECT_THAT(without_padding({network, {}}, {{}, same(2)}).error().message,
              HasSubstr("node up upsamples and pads by 2x2x2 and 2x2x2; at most 1x1x1 is right"));
  std::get<Upsample>(network.nodes[1].operation).kind = UpsampleKind::nearest;
  EXPECT_THAT(without_padding({network, {}}, {{}, same(1)}).error().message, HasSubstr("at most 0x0x0 is right"));
}

}  // namespace
}  // namespace znni
