#include "planner/network/graph_passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/planner/dense_net.hpp"
#include "tests/planner/folded_net.hpp"

namespace znni {
namespace {

using test::Random;
using testing::ElementsAre;

const Activation relu{ActivationKind::relu, 0};

Convolution passed_conv(std::int64_t f_out, std::int64_t k = 2) { return {f_out, Vec3::cube(k), Vec3::cube(1), {}}; }

std::vector<std::string> passed(std::vector<Node> nodes) {
  Network network;
  network.f_in = 2;
  network.nodes = std::move(nodes);
  EXPECT_TRUE(check(network)) << check(network).error().message;
  const LoadedNetwork result = fold_and_fuse({network, {}});
  EXPECT_TRUE(result.weights.empty());
  EXPECT_TRUE(check(result.network)) << check(result.network).error().message;
  return describe(result.network);
}

TEST(PlannerGraphPasses, NormalisationAndActivationGoIntoTheConvolution) {
  EXPECT_THAT(passed({{"conv", passed_conv(3), {0}}, {"norm", ScaleShift{}, {1}}, {"act", Activate{relu}, {2}}}),
              ElementsAre("conv: conv 2 -> 3, k 2x2x2, relu <- input"));
}

TEST(PlannerGraphPasses, AnActivationGoesIntoTheNormalisationBeforeIt) {
  EXPECT_THAT(passed({{"conv", passed_conv(4), {0}}, {"norm", Norm{2, 1e-5F, {}}, {1}}, {"act", Activate{relu}, {2}}}),
              ElementsAre("conv: conv 2 -> 4, k 2x2x2 <- input", "norm: norm 4, groups 2, relu <- conv"));
}

TEST(PlannerGraphPasses, ScalesAndShiftsGoIntoTheNormalisationBeforeThem) {
  Network network;
  network.f_in = 2;
  network.nodes = {{"norm", Norm{1, 1e-5F, {}}, {0}}, {"mul", ScaleShift{}, {1}}, {"add", ScaleShift{}, {2}}};
  const NetworkWeights weights = {{{}, {}, {2, 3}, {1, -1}}, {{}, {}, {5, 7}, {0, 0}}, {{}, {}, {1, 1}, {10, 20}}};
  ASSERT_TRUE(check_weights(network, weights));
  const LoadedNetwork folded = fold_and_fuse({network, weights});
  EXPECT_EQ(folded.network.nodes, (std::vector<Node>{{"norm", Norm{1, 1e-5F, {}}, {0}}}));
  ASSERT_EQ(folded.weights.size(), 1U);
  EXPECT_THAT(folded.weights[0].scale, ElementsAre(10, 21));
  EXPECT_THAT(folded.weights[0].shift, ElementsAre(15, 13));
}

TEST(PlannerGraphPasses, AScaleBehindTheNormalisationsActivationOrBesideAnotherReaderStays) {
  const std::vector<std::string> behind =
      passed({{"norm", Norm{1, 1e-5F, {}}, {0}}, {"act", Activate{relu}, {1}}, {"mul", ScaleShift{}, {2}}});
  EXPECT_THAT(behind, ElementsAre("norm: norm 2, groups 1, relu <- input", "mul: scale and shift 2 <- norm"));
  const std::vector<std::string> beside =
      passed({{"norm", Norm{1, 1e-5F, {}}, {0}}, {"mul", ScaleShift{}, {1}}, {"both", Concat{}, {1, 2}}});
  EXPECT_EQ(beside.size(), 3U);
}

Pooling halved() { return {PoolKind::max, Vec3::cube(2), Vec3::cube(2), true}; }

TEST(PlannerGraphPasses, ElementByElementIsDoneBeforeUpsampling) {
  EXPECT_THAT(
      passed({{"pool", halved(), {0}},
              {"taps", passed_conv(24, 1), {1}},
              {"up", Upsample{Vec3::cube(2), UpsampleKind::shuffle}, {2}},
              {"norm", ScaleShift{}, {3}},
              {"act", Activate{relu}, {4}}}),
      ElementsAre("pool: max pool 2, window 2x2x2, stride 2x2x2, strided <- input",
                  "taps: conv 2 -> 24, k 1x1x1, relu <- pool", "up: upsample 24, shuffle, factor 2x2x2 <- taps"));
}

TEST(PlannerGraphPasses, WhatMovesBeforeAnUpsamplingReachesAsFarAsItsInput) {
  const Border coarse{Vec3::cube(1), Vec3::cube(1)};
  const Border fine{Vec3::cube(2), Vec3::cube(2)};
  Network network;
  network.f_in = 2;
  network.nodes = {{"pool", halved(), {0}, {}, OutsideKind::zero, coarse},
                   {"up", Upsample{}, {1}, {}, OutsideKind::zero, fine},
                   {"act", Activate{relu}, {2}, fine, OutsideKind::zero, {Vec3::cube(3), Vec3::cube(2)}}};
  const LoadedNetwork folded = fold_and_fuse({network, {}});
  ASSERT_EQ(folded.network.nodes.size(), 3U);
  EXPECT_EQ(folded.network.nodes[1].name, "act");
  EXPECT_EQ(folded.network.nodes[1].beyond, coarse);
  EXPECT_EQ(folded.network.nodes[2].beyond, fine);
}

// The weights of an interpolation add up to 1; a ReLU of a mean is not the mean of ReLUs.
TEST(PlannerGraphPasses, OnlyScalesGoBeforeALinearUpsampling) {
  EXPECT_THAT(passed({{"pool", halved(), {0}},
                      {"taps", passed_conv(3, 1), {1}},
                      {"up", Upsample{Vec3::cube(2), UpsampleKind::linear}, {2}},
                      {"norm", ScaleShift{}, {3}},
                      {"act", Activate{relu}, {4}}}),
              ElementsAre("pool: max pool 2, window 2x2x2, stride 2x2x2, strided <- input",
                          "taps: conv 2 -> 3, k 1x1x1 <- pool", "up: upsample 3, linear, factor 2x2x2 <- taps",
                          "act: activation 3, relu <- up"));
}

// Two upsamplings read one copy, whose border is repeated; the scale of one goes before it and takes the border along.
TEST(PlannerGraphPasses, ABorderThatOthersReadStaysWhereItIs) {
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  Network network;
  network.f_in = 2;
  network.nodes = {{"pool", halved(), {0}, one, OutsideKind::edge},
                   {"up", Upsample{Vec3::cube(2), UpsampleKind::linear}, {1}},
                   {"norm", ScaleShift{}, {2}},
                   {"other", Upsample{Vec3::cube(2), UpsampleKind::linear}, {1}},
                   {"both", Concat{}, {3, 4}}};
  const std::vector<Node> nodes = fold_and_fuse({network, random_weights(network, 1)}).network.nodes;
  ASSERT_EQ(nodes.size(), 5U);
  EXPECT_EQ(nodes[0].outside, one);
  EXPECT_EQ(nodes[0].outside_kind, OutsideKind::edge);
  EXPECT_TRUE(std::holds_alternative<ScaleShift>(nodes[1].operation));
  EXPECT_EQ(nodes[1].outside, one);
  EXPECT_EQ(nodes[1].outside_kind, OutsideKind::edge);
}

TEST(PlannerGraphPasses, ASoftmaxStaysBehindALinearUpsampling) {
  EXPECT_THAT(passed({{"pool", halved(), {0}},
                      {"up", Upsample{Vec3::cube(2), UpsampleKind::linear}, {1}},
                      {"soft", AcrossChannels{}, {2}}}),
              ElementsAre("pool: max pool 2, window 2x2x2, stride 2x2x2, strided <- input",
                          "up: upsample 2, linear, factor 2x2x2 <- pool", "soft: softmax 2 <- up"));
}

TEST(PlannerGraphPasses, ChannelsOfAShuffleAreScaledInEachPhase) {
  Network network;
  network.f_in = 16;
  network.nodes = {{"pool", halved(), {0}},
                   {"up", Upsample{Vec3::cube(2), UpsampleKind::shuffle}, {1}},
                   {"norm", ScaleShift{}, {2}}};
  NetworkWeights weights(3);
  weights[2].scale = {2, 3};
  weights[2].shift = {5, 7};
  const LoadedNetwork folded = fold_and_fuse({network, weights});
  ASSERT_TRUE(std::holds_alternative<ScaleShift>(folded.network.nodes[1].operation));
  EXPECT_EQ(folded.network.nodes[2].inputs, std::vector<int>{2});
  EXPECT_THAT(folded.weights[1].scale, ElementsAre(2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3));
  EXPECT_THAT(folded.weights[1].shift, ElementsAre(5, 7, 5, 7, 5, 7, 5, 7, 5, 7, 5, 7, 5, 7, 5, 7));
  EXPECT_TRUE(check_weights(folded.network, folded.weights));
}

TEST(PlannerGraphPasses, NormalisationGoesIntoFollowingConvolutions) {
  EXPECT_THAT(passed({{"norm", ScaleShift{}, {0}},
                      {"a", passed_conv(3), {1}},
                      {"b", passed_conv(4), {1}},
                      {"both", Concat{}, {2, 3}}}),
              ElementsAre("a: conv 2 -> 7, k 2x2x2 <- input"));
}

TEST(PlannerGraphPasses, ConvolutionsOfOneTensorThatStandSideBySideBecomeOne) {
  EXPECT_THAT(passed({{"c", passed_conv(1), {0}},
                      {"a", passed_conv(3), {0}},
                      {"relu_a", Activate{relu}, {2}},
                      {"b", passed_conv(4), {0}},
                      {"norm_b", ScaleShift{}, {4}},
                      {"relu_b", Activate{relu}, {5}},
                      {"all", Concat{}, {1, 3, 6}},
                      {"last", passed_conv(2, 1), {7}}}),
              ElementsAre("c: conv 2 -> 1, k 2x2x2 <- input", "a: conv 2 -> 7, k 2x2x2, relu <- input",
                          "all: concat <- c, a", "last: conv 8 -> 2, k 1x1x1 <- all"));
  // What stood behind the Concat follows.
  EXPECT_THAT(passed({{"a", passed_conv(3), {0}},
                      {"b", passed_conv(3), {0}},
                      {"all", Concat{}, {1, 2}},
                      {"norm", ScaleShift{}, {3}},
                      {"relu", Activate{relu}, {4}}}),
              ElementsAre("a: conv 2 -> 6, k 2x2x2, relu <- input"));
  // The order is the Concat's.
  EXPECT_THAT(passed({{"a", passed_conv(3), {0}},
                      {"b", passed_conv(4), {0}},
                      {"c", passed_conv(5), {0}},
                      {"all", Concat{}, {3, 1, 2}}}),
              ElementsAre("c: conv 2 -> 12, k 2x2x2 <- input"));
}

TEST(PlannerGraphPasses, ConvolutionsStayApartWhereOneIsReadElsewhereOrDiffers) {
  EXPECT_EQ(passed({{"a", passed_conv(3), {0}}, {"b", passed_conv(3), {0}}, {"c", Concat{}, {1, 2, 1}}}).size(), 3U);
  EXPECT_EQ(passed({{"a", passed_conv(2, 1), {0}}, {"b", passed_conv(2, 1), {1}}, {"c", Concat{}, {1, 2}}}).size(), 3U);
  EXPECT_EQ(passed({{"a", passed_conv(2, 1), {0}}, {"b", passed_conv(2, 1), {0, 0}}, {"c", Concat{}, {1, 2}}}).size(),
            3U);
  EXPECT_EQ(
      passed(
          {{"a", passed_conv(2), {0}}, {"b", passed_conv(2), {0}}, {"r", Activate{relu}, {2}}, {"c", Concat{}, {1, 3}}})
          .size(),
      3U);
  EXPECT_EQ(passed({{"a", passed_conv(2, 1), {0}}, {"c", Concat{}, {1, 0}}}).size(), 2U);
}

TEST(PlannerGraphPasses, JoinedConvolutionsHaveTheKernelsAndBiasesOfAllInOrder) {
  Network network;
  network.nodes = {{"a", passed_conv(2, 1), {0}},
                   {"b", passed_conv(1, 1), {0}},
                   {"c", passed_conv(1, 1), {0}},
                   {"all", Concat{}, {3, 1, 2}}};
  const NetworkWeights weights = {{{1, 2}, {}, {}, {}}, {{3}, {30}, {}, {}}, {{4}, {}, {}, {}}, {}};
  ASSERT_TRUE(check_weights(network, weights));
  const LoadedNetwork result = fold_and_fuse({network, weights});
  ASSERT_EQ(result.weights.size(), 1U);
  EXPECT_THAT(result.weights[0].kernels, ElementsAre(4, 1, 2, 3));
  EXPECT_THAT(result.weights[0].bias, ElementsAre(0, 0, 0, 30));
}

TEST(PlannerGraphPasses, ChainsOfNormalisationsVanish) {
  EXPECT_THAT(passed({{"n1", ScaleShift{}, {0}},
                      {"n2", ScaleShift{}, {1}},
                      {"conv", passed_conv(3), {2}},
                      {"n3", ScaleShift{}, {3}},
                      {"n4", ScaleShift{}, {4}}}),
              ElementsAre("conv: conv 2 -> 3, k 2x2x2 <- input"));
}

TEST(PlannerGraphPasses, NormalisationStaysWhereAnotherReaderNeedsTheRaw) {
  EXPECT_THAT(passed({{"conv", passed_conv(2), {0}}, {"norm", ScaleShift{}, {1}}, {"sum", Add{}, {1, 2}}}),
              ElementsAre("conv: conv 2 -> 2, k 2x2x2 <- input", "norm: scale and shift 2 <- conv",
                          "sum: add 2 <- conv, norm"));
}

TEST(PlannerGraphPasses, NormalisationStaysBehindAnActivation) {
  EXPECT_THAT(passed({{"conv", passed_conv(2), {0}}, {"act", Activate{relu}, {1}}, {"norm", ScaleShift{}, {2}}}),
              ElementsAre("conv: conv 2 -> 2, k 2x2x2, relu <- input", "norm: scale and shift 2 <- conv"));
  EXPECT_THAT(passed({{"norm", ScaleShift{}, {0}}, {"pool", Pooling{}, {1}}}),
              ElementsAre("norm: scale and shift 2 <- input", "pool: max pool 2, window 2x2x2, stride 2x2x2 <- norm"));
}

TEST(PlannerGraphPasses, ActivationGoesIntoAnAddition) {
  EXPECT_THAT(passed({{"soft", AcrossChannels{}, {0}},
                      {"a", passed_conv(3), {0}},
                      {"b", passed_conv(3), {1}},
                      {"sum", Add{}, {2, 3}},
                      {"act", Activate{relu}, {4}},
                      {"out", AcrossChannels{}, {5}}}),
              ElementsAre("soft: softmax 2 <- input", "a: conv 2 -> 3, k 2x2x2 <- input",
                          "b: conv 2 -> 3, k 2x2x2, residual, relu <- soft, a", "out: softmax 3 <- b"));
  EXPECT_THAT(passed({{"sum", Add{}, {0, 0}}, {"act", Activate{relu}, {1}}}),
              ElementsAre("sum: add 2, relu <- input, input"));
}

TEST(PlannerGraphPasses, AdditionGoesIntoTheLaterConvolution) {
  const std::vector<std::string> folded = {"soft: softmax 2 <- input", "a: conv 2 -> 2, k 1x1x1 <- input",
                                           "b: conv 2 -> 2, k 1x1x1, residual <- soft, a"};
  const Node soft = {"soft", AcrossChannels{}, {0}};
  EXPECT_EQ(passed({soft, {"a", passed_conv(2, 1), {0}}, {"b", passed_conv(2, 1), {1}}, {"sum", Add{}, {2, 3}}}),
            folded);
  EXPECT_EQ(passed({soft, {"a", passed_conv(2, 1), {0}}, {"b", passed_conv(2, 1), {1}}, {"sum", Add{}, {3, 2}}}),
            folded);
}

TEST(PlannerGraphPasses, ChainsOfResidualBlocksLoseTheirAdditions) {
  EXPECT_THAT(
      passed({{"a", passed_conv(2, 1), {0}},
              {"relu_a", Activate{relu}, {1}},
              {"b", passed_conv(2, 1), {2}},
              {"sum1", Add{}, {0, 3}},
              {"relu1", Activate{relu}, {4}},
              {"c", passed_conv(2, 1), {5}},
              {"relu_c", Activate{relu}, {6}},
              {"d", passed_conv(2, 1), {7}},
              {"bn", ScaleShift{}, {8}},
              {"sum2", Add{}, {9, 5}},
              {"relu2", Activate{relu}, {10}}}),
      ElementsAre("a: conv 2 -> 2, k 1x1x1, relu <- input", "b: conv 2 -> 2, k 1x1x1, residual, relu <- a, input",
                  "c: conv 2 -> 2, k 1x1x1, relu <- b", "d: conv 2 -> 2, k 1x1x1, residual, relu <- c, b"));
}

TEST(PlannerGraphPasses, AdditionStaysWhereTheConvolutionCannotEndWithIt) {
  // Another node reads the convolution; it has an activation; it is the earlier one; three values meet.
  EXPECT_EQ(passed({{"a", passed_conv(2, 1), {0}}, {"sum", Add{}, {0, 1}}, {"all", Concat{}, {1, 2}}})[1],
            "sum: add 2 <- input, a");
  EXPECT_EQ(passed({{"a", passed_conv(2, 1), {0}}, {"act", Activate{relu}, {1}}, {"sum", Add{}, {0, 2}}})[1],
            "sum: add 2 <- input, a");
  EXPECT_EQ(passed({{"a", passed_conv(2, 1), {0}}, {"act", Activate{relu}, {0}}, {"sum", Add{}, {1, 2}}})[2],
            "sum: add 2 <- a, act");
  EXPECT_EQ(passed({{"a", passed_conv(2, 1), {0}},
                    {"b", passed_conv(2, 1), {1}},
                    {"s", AcrossChannels{}, {0}},
                    {"sum", Add{}, {0, 2, 3}}})[3],
            "sum: add 2 <- input, b, s");
  EXPECT_EQ(passed({{"a", passed_conv(2, 1), {0}}, {"sum", Add{}, {1, 1}}})[1], "sum: add 2 <- a, a");
}

// In this file the convolution adds a residual already.
TEST(PlannerGraphPasses, AResidualIsNotScaledAndNotJoinedByAnother) {
  const std::vector<std::string> after =
      passed({{"a", passed_conv(2, 1), {0, 0}}, {"norm", ScaleShift{}, {1}}, {"pool", Pooling{}, {2}}});
  EXPECT_EQ(after[0], "a: conv 2 -> 2, k 1x1x1, residual <- input, input");
  EXPECT_EQ(after[1], "norm: scale and shift 2 <- a");
  const std::vector<std::string> before = passed({{"norm", ScaleShift{}, {0}}, {"a", passed_conv(2, 1), {0, 1}}});
  EXPECT_EQ(before[0], "norm: scale and shift 2 <- input");
  const std::vector<std::string> twice = passed({{"a", passed_conv(2, 1), {0, 0}}, {"sum", Add{}, {0, 1}}});
  EXPECT_EQ(twice[1], "sum: add 2 <- input, a");
}

TEST(PlannerGraphPasses, SecondActivationStays) {
  EXPECT_THAT(passed({{"conv", passed_conv(1), {0}},
                      {"act1", Activate{relu}, {1}},
                      {"act2", Activate{{ActivationKind::tanh, 0}}, {2}}}),
              ElementsAre("conv: conv 2 -> 1, k 2x2x2, relu <- input", "act2: activation 1, tanh <- conv"));
}

TEST(PlannerGraphPasses, ActivationStaysWhereAnotherReaderNeedsTheRaw) {
  EXPECT_THAT(passed({{"conv", passed_conv(1), {0}}, {"act", Activate{relu}, {1}}, {"both", Concat{}, {1, 2}}}),
              ElementsAre("conv: conv 2 -> 1, k 2x2x2 <- input", "act: activation 1, relu <- conv",
                          "both: concat <- conv, act"));
  EXPECT_THAT(passed({{"act", Activate{relu}, {0}}}), ElementsAre("act: activation 2, relu <- input"));
}

TEST(PlannerGraphPasses, ActivationsThatDoNothingAreRemoved) {
  EXPECT_THAT(passed({{"id", Activate{}, {0}}, {"conv", passed_conv(1), {1}}, {"id2", Activate{}, {2}}}),
              ElementsAre("conv: conv 2 -> 1, k 2x2x2 <- input"));
  EXPECT_THAT(passed({{"id", Activate{}, {0}}}), ElementsAre("id: activation 2 <- input"));
}

TEST(PlannerGraphPasses, CropsOfNothingGoAndCropsOfCropsBecomeOne) {
  EXPECT_THAT(passed({{"a", Crop{{1, 0, 0}, {}}, {0}},
                      {"none", Crop{}, {1}},
                      {"b", Crop{{1, 2, 0}, {0, 0, 3}}, {2}},
                      {"conv", passed_conv(1), {3}}}),
              ElementsAre("b: crop 2, begin 2x2x0, end 0x0x3 <- input", "conv: conv 2 -> 1, k 2x2x2 <- b"));
  EXPECT_EQ(passed({{"a", Crop{{1, 0, 0}, {}}, {0}},
                    {"b", Crop{{}, {2, 0, 0}}, {1}},
                    {"c", Crop{{2, 0, 0}, {}}, {1}},
                    {"all", Concat{}, {2, 3}}})
                .size(),
            4U);
}

// Exporters write them axis by axis.
TEST(PlannerGraphPasses, NearestUpsamplingsOfUpsamplingsBecomeOne) {
  EXPECT_THAT(passed({{"pool", halved(), {0}},
                      {"z", Upsample{{2, 1, 1}}, {1}},
                      {"y", Upsample{{1, 2, 1}}, {2}},
                      {"x", Upsample{{1, 1, 2}}, {3}}}),
              ElementsAre("pool: max pool 2, window 2x2x2, stride 2x2x2, strided <- input",
                          "x: upsample 2, nearest, factor 2x2x2 <- pool"));
  EXPECT_EQ(passed({{"pool", halved(), {0}},
                    {"nearest", Upsample{{2, 1, 1}}, {1}},
                    {"linear", Upsample{{1, 2, 2}, UpsampleKind::linear}, {2}}})
                .size(),
            3U);
}

// Files crop a residual where they add it: behind the convolution.
TEST(PlannerGraphPasses, ACroppedResidualMovesBeforeTheConvolution) {
  const Crop border{Vec3::cube(1), Vec3::cube(1)};
  EXPECT_THAT(passed({{"a", passed_conv(2), {0}},
                      {"b", passed_conv(2), {1}},
                      {"norm", ScaleShift{}, {2}},
                      {"crop", border, {0}},
                      {"sum", Add{}, {3, 4}},
                      {"relu", Activate{relu}, {5}},
                      {"all", Concat{}, {6, 4}}}),
              ElementsAre("a: conv 2 -> 2, k 2x2x2 <- input", "crop: crop 2, begin 1x1x1, end 1x1x1 <- input",
                          "b: conv 2 -> 2, k 2x2x2, residual, relu <- a, crop", "all: concat <- b, crop"));
  // It reads the convolution itself; another node does, too.
  EXPECT_EQ(passed({{"a", passed_conv(2), {0}},
                    {"crop", Crop{{1, 1, 1}, {}}, {1}},
                    {"b", passed_conv(2), {1}},
                    {"sum", Add{}, {2, 3}}})
                .size(),
            3U);
  EXPECT_EQ(
      passed(
          {{"a", passed_conv(2, 3), {0}}, {"crop", border, {0}}, {"sum", Add{}, {1, 2}}, {"all", Concat{}, {1, 3}}})[2],
      "sum: add 2 <- a, crop");
}

TEST(PlannerGraphPasses, FoldingScalesAloneLeavesActivationsAndSums) {
  Network network;
  network.f_in = 2;
  network.nodes = {{"one", passed_conv(2), {0}}, {"norm", ScaleShift{}, {1}},     {"act", Activate{relu}, {2}},
                   {"none", Activate{{}}, {3}},  {"two", passed_conv(2, 1), {4}}, {"three", passed_conv(2, 1), {4}},
                   {"sum", Add{}, {5, 6}}};
  ASSERT_TRUE(check(network));
  NetworkWeights weights = random_weights(network, 1);
  const float kernel = weights[0].kernels[0] * weights[1].scale[0];
  const LoadedNetwork folded = fold_scales({network, std::move(weights)});
  EXPECT_TRUE(check_weights(folded.network, folded.weights));
  EXPECT_THAT(describe(folded.network),
              ElementsAre("one: conv 2 -> 2, k 2x2x2 <- input", "act: activation 2, relu <- one",
                          "two: conv 2 -> 2, k 1x1x1 <- act", "three: conv 2 -> 2, k 1x1x1 <- act",
                          "sum: add 2 <- two, three"));
  EXPECT_EQ(folded.weights[0].kernels[0], kernel);
}

TEST(PlannerGraphPasses, MissingBiasIsMadeWhereAShiftNeedsOne) {
  Network network;
  network.f_in = 1;
  network.nodes = {{"norm", ScaleShift{}, {0}}, {"conv", passed_conv(1, 1), {1}}, {"norm2", ScaleShift{}, {2}}};
  // 5 (3 (2 x + 1)) + 7 = 30 x + 22
  const NetworkWeights weights = {{{}, {}, {2}, {1}}, {{3}, {}, {}, {}}, {{}, {}, {5}, {7}}};
  ASSERT_TRUE(check_weights(network, weights));
  const LoadedNetwork result = fold_and_fuse({network, weights});
  ASSERT_EQ(result.weights.size(), 1U);
  EXPECT_THAT(result.weights[0].kernels, ElementsAre(30));
  EXPECT_THAT(result.weights[0].bias, ElementsAre(22));
}

// Returns a random net in which every value passes a normalisation and an activation, before and after.
Network with_more_nodes(const Network& network, Random& random) {
  Network result = network;
  result.nodes.clear();
  std::vector<int> values = {0};
  const auto append = [&](const std::string& name, Operation operation, std::vector<int> inputs) {
    result.nodes.push_back({name, std::move(operation), std::move(inputs)});
    return static_cast<int>(result.nodes.size());
  };
  for (const Node& node : network.nodes) {
    std::vector<int> inputs;
    for (const int input : node.inputs) inputs.push_back(values[static_cast<std::size_t>(input)]);
    int value = append(node.name, node.operation, inputs);
    if (random.chance(0.5)) value = append(node.name + "/norm", ScaleShift{}, {value});
    if (random.chance(0.3)) value = append(node.name + "/act", Activate{test::random_activation(random)}, {value});
    if (random.chance(0.2)) value = append(node.name + "/norm2", ScaleShift{}, {value});
    if (random.chance(0.1)) value = append(node.name + "/whole", Crop{}, {value});
    values.push_back(value);
  }
  return result;
}

class RandomGraphs : public testing::TestWithParam<int> {};

TEST_P(RandomGraphs, ComputeTheSameAfterwards) {
  const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(GetParam());
  Random random(seed);
  const Network network = with_more_nodes(test::random_network(random), random);
  std::string text = "case " + std::to_string(GetParam()) + ", ZNNI_TEST_SEED=" + std::to_string(test::base_seed());
  for (const std::string& line : describe(network)) text += "\n  " + line;
  SCOPED_TRACE(text);
  test::expect_folded_alike(network, seed, random);
}

// Nothing is left that a pass could still take; of a net that does nothing one node.
TEST_P(RandomGraphs, PassesAreExhaustive) {
  Random random(test::base_seed() * 1000 + static_cast<std::uint64_t>(GetParam()));
  const Network network = with_more_nodes(test::random_network(random), random);
  const LoadedNetwork once = fold_and_fuse({network, {}});
  EXPECT_EQ(describe(fold_and_fuse(once).network), describe(once.network));
  for (const Node& node : once.network.nodes) {
    const auto* activate = std::get_if<Activate>(&node.operation);
    const bool does_something = activate == nullptr || activate->activation.kind != ActivationKind::none;
    EXPECT_TRUE(does_something || once.network.nodes.size() == 1) << node.name;
  }
}

INSTANTIATE_TEST_SUITE_P(PlannerGraphPasses, RandomGraphs, testing::Range(0, test::case_count(100)));

}  // namespace
}  // namespace znni
