#include "tests/oracle/oracle.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace znni::oracle {
namespace {

// Worked out by hand, because no other code checks the oracle.

Values run(const LayerProblem& problem, const std::vector<Values>& inputs, const LayerWeights& weights = {}) {
  return oracle_run(problem, inputs, weights);
}

TEST(OracleConv, IsACrossCorrelationWithBias) {
  const ConvProblem conv{{1, 1, {1, 1, 4}}, 1, {1, 1, 2}, {1, 1, 1}, {1, 1, 1}, {}};
  const std::vector<float> kernels = {10, 1};
  const std::vector<float> bias = {0.5};
  EXPECT_EQ(run(conv, {{1, 2, 3, 4}}, {kernels, bias, {}, {}}), (Values{12.5, 23.5, 34.5}));
}

TEST(OracleConv, MissingBiasIsZero) {
  const ConvProblem conv{{1, 1, {1, 1, 2}}, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}};
  const std::vector<float> kernels = {3};
  EXPECT_EQ(run(conv, {{1, -2}}, {kernels, {}, {}, {}}), (Values{3, -6}));
}

TEST(OracleConv, SumsOverInputChannels) {
  const ConvProblem conv{{1, 2, {1, 1, 2}}, 2, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}};
  const std::vector<float> kernels = {1, 10, 100, 1000};  // [f_out][f]
  EXPECT_EQ(run(conv, {{1, 2, 3, 4}}, {kernels, {}, {}, {}}), (Values{31, 42, 3100, 4200}));
}

TEST(OracleConv, DilationSpreadsTheKernelAlongItsAxis) {
  const ConvProblem conv{{1, 1, {5, 1, 1}}, 1, {2, 1, 1}, {3, 1, 1}, {1, 1, 1}, {}};
  const std::vector<float> kernels = {1, 100};
  EXPECT_EQ(run(conv, {{1, 2, 3, 4, 5}}, {kernels, {}, {}, {}}), (Values{401, 502}));
}

TEST(OracleConv, StridesSkipVoxelsAndTheRestIsNotRead) {
  const ConvProblem conv{{1, 1, {1, 4, 6}}, 1, {1, 1, 2}, {1, 1, 1}, {1, 3, 2}, {}};
  const std::vector<float> kernels = {1, 100};
  const Values in = {1,  2,  3,  4,  5,  6,    // read
                     -1, -1, -1, -1, -1, -1,   // between
                     -1, -1, -1, -1, -1, -1,   // between
                     7,  8,  9,  10, 11, 12};  // read
  EXPECT_EQ(run(conv, {in}, {kernels, {}, {}, {}}), (Values{201, 403, 605, 807, 1009, 1211}));
  const ConvProblem rest{{1, 1, {1, 1, 7}}, 1, {1, 1, 2}, {1, 1, 2}, {1, 1, 3}, {}};
  EXPECT_EQ(run(rest, {{1, 2, 3, 4, 5, 6, -1}}, {kernels, {}, {}, {}}), (Values{301, 604}));
}

TEST(OracleConv, AxesAreZYX) {
  const ConvProblem conv{{1, 1, {2, 2, 2}}, 1, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {}};
  const std::vector<float> kernels = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(run(conv, {{0, 0, 0, 0, 1, 0, 0, 0}}, {kernels, {}, {}, {}}), (Values{5}));
  EXPECT_EQ(run(conv, {{0, 1, 0, 0, 0, 0, 0, 0}}, {kernels, {}, {}, {}}), (Values{2}));
}

TEST(OracleConv, ActivatesLast) {
  const ConvProblem conv{{1, 1, {1, 1, 2}}, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0}};
  const std::vector<float> kernels = {1};
  const std::vector<float> bias = {-3};
  EXPECT_EQ(run(conv, {{2, 4}}, {kernels, bias, {}, {}}), (Values{0, 1}));
}

TEST(OraclePool, MaxAndAverage) {
  PoolProblem pool{.in = {1, 1, {1, 2, 4}}, .window = {1, 2, 2}, .stride = {1, 2, 2}};
  const Values in = {1, 2, 3, 4, 5, -6, 7, 8};
  EXPECT_EQ(run(pool, {in}), (Values{5, 8}));
  pool.kind = PoolKind::average;
  EXPECT_EQ(run(pool, {in}), (Values{0.5, 5.5}));
}

TEST(OraclePool, FragmentsAreTheOffsetsInOrder) {
  const PoolProblem pool{
      .in = {1, 1, {1, 1, 5}}, .window = {1, 1, 2}, .stride = {1, 1, 2}, .mode = PoolMode::fragments};
  EXPECT_EQ(run(pool, {{1, 2, 3, 4, 5}}), (Values{2, 4, 3, 5}));
}

// Fragments A (offset 0) and B (offset 1) come in; the new offset is the leading digit: A0, B0, A1, B1.
TEST(OraclePool, TheNewOffsetLeads) {
  const PoolProblem pool{.in = {2, 1, {1, 1, 3}},
                         .window = {1, 1, 2},
                         .stride = {1, 1, 2},
                         .mode = PoolMode::fragments,
                         .fragments = {1, 1, 2}};
  EXPECT_EQ(run(pool, {{1, 2, 3, 10, 20, 30}}), (Values{2, 20, 3, 30}));
}

TEST(OracleElementwise, EveryKind) {
  const Shape5 shape{1, 2, {1, 1, 2}};
  EXPECT_EQ(run(ActivationProblem{shape, {ActivationKind::leaky_relu, 0.5F}}, {{-2, 2, -4, 4}}),
            (Values{-1, 2, -2, 4}));
  EXPECT_EQ(run(AddProblem{shape, 2, {ActivationKind::relu, 0}}, {{1, 2, 3, 4}, {1, -3, 1, 1}}), (Values{2, 0, 4, 5}));
  const std::vector<float> scale = {2, 3};
  const std::vector<float> shift = {1, -1};
  EXPECT_EQ(run(ScaleShiftProblem{shape}, {{1, 2, 3, 4}}, {{}, {}, scale, shift}), (Values{3, 5, 8, 11}));
  EXPECT_EQ(run(PReluProblem{shape}, {{-1, 2, -3, 4}}, {{}, {}, scale, {}}), (Values{-2, 2, -9, 4}));
  const Values soft = run(AcrossChannelsProblem{shape}, {{0, 5, std::log(3.0), 5}});
  EXPECT_NEAR(soft[0], 0.25, 1e-15);
  EXPECT_NEAR(soft[1], 0.5, 1e-15);
  EXPECT_NEAR(soft[2], 0.75, 1e-15);
  const Values logs = run(AcrossChannelsProblem{shape, AcrossKind::log_softmax}, {{0, 5, std::log(3.0), 5}});
  EXPECT_NEAR(logs[0], std::log(0.25), 1e-15);
  EXPECT_NEAR(logs[3], std::log(0.5), 1e-15);
  EXPECT_EQ(run(AcrossChannelsProblem{shape, AcrossKind::arg_max}, {{0, 5, 3, 5}}), (Values{1, 0}));
  EXPECT_EQ(run(AcrossChannelsProblem{shape, AcrossKind::arg_max_last}, {{0, 5, 3, 5}}), (Values{1, 1}));
  EXPECT_EQ(run(AcrossChannelsProblem{shape, AcrossKind::norm, 5}, {{0, 5, 4, 5}}), (Values{-2.0 / 3, 0, 2.0 / 3, 0}));
  EXPECT_EQ(run(ReorderProblem{shape, {}, {ElementType::f32, Layout::blocked8}}, {{1, 2, 3, 4}}), (Values{1, 2, 3, 4}));
}

// Channels 0 and 1 are a group of mean 2 and variance 4; all of channels 2 and 3 are equal.
TEST(OracleNorm, NormalisesGroupsOfChannels) {
  const NormProblem problem{{1, 4, {1, 1, 2}}, 2, 5.0F, {ActivationKind::relu}};
  const std::vector<float> scale = {3, 6, 1, 1};
  const std::vector<float> shift = {1, 2, 7, -7};
  EXPECT_EQ(run(problem, {{0, 4, 4, 0, 9, 9, 9, 9}}, {{}, {}, scale, shift}), (Values{0, 3, 6, 0, 7, 7, 0, 0}));
}

TEST(OracleNorm, NormalisesEachInputOfTheBatchByItself) {
  const NormProblem problem{{2, 1, {1, 1, 2}}, 1, 3.0F};
  const std::vector<float> scale = {2};
  const std::vector<float> shift = {0};
  EXPECT_EQ(run(problem, {{-1, 1, 9, 11}}, {{}, {}, scale, shift}), (Values{-1, 1, -1, 1}));
}

TEST(OracleGlobalPool, EveryVoxelIsTheLargestOrTheMeanOfItsChannel) {
  const Shape5 shape{2, 2, {1, 1, 2}};
  const Values in = {1, 3, -8, -2, 5, 5, 0, 1};
  EXPECT_EQ(run(GlobalPoolProblem{shape, PoolKind::max}, {{in}}), (Values{3, 3, -2, -2, 5, 5, 1, 1}));
  EXPECT_EQ(run(GlobalPoolProblem{shape}, {{in}}), (Values{2, 2, -5, -5, 5, 5, 0.5, 0.5}));
}

TEST(OracleConcat, PutsChannelsOfEachInputOfTheBatchTogether) {
  const ConcatProblem concat{{{2, 1, {1, 1, 1}}, {2, 2, {1, 1, 1}}}};
  EXPECT_EQ(run(concat, {{1, 2}, {10, 11, 20, 21}}), (Values{1, 10, 11, 2, 20, 21}));
}

TEST(OracleUpsample, NearestRepeatsVoxels) {
  const UpsampleProblem problem{{1, 2, {1, 1, 2}}, {2, 1, 2}, UpsampleKind::nearest};
  EXPECT_EQ(run(problem, {{1, 2, 3, 4}}), (Values{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
}

// Phases come before channels: channels 0 and 1 are offset 0 of both outputs, channels 2 and 3 are offset 1.
TEST(OracleUpsample, ShuffleMakesVoxelsOfChannels) {
  const UpsampleProblem along_x{{1, 4, {1, 1, 2}}, {1, 1, 2}, UpsampleKind::shuffle};
  EXPECT_EQ(run(along_x, {{1, 2, 10, 20, 3, 4, 30, 40}}), (Values{1, 3, 2, 4, 10, 30, 20, 40}));
  const UpsampleProblem all{{1, 8, {1, 1, 1}}, {2, 2, 2}, UpsampleKind::shuffle};
  EXPECT_EQ(run(all, {{0, 1, 2, 3, 4, 5, 6, 7}}), (Values{0, 1, 2, 3, 4, 5, 6, 7}));
  const UpsampleProblem planes{{1, 4, {1, 1, 1}}, {2, 2, 1}, UpsampleKind::shuffle};
  EXPECT_EQ(run(planes, {{5, 6, 7, 8}}), (Values{5, 6, 7, 8}));
}

// The values of ONNX Resize (linear, half_pixel) of voxels that have neighbours on either side.
TEST(OracleUpsample, LinearLiesBetweenNeighbours) {
  const UpsampleProblem twice{{1, 1, {1, 1, 4}}, {1, 1, 2}, UpsampleKind::linear};
  EXPECT_EQ(run(twice, {{0, 4, 12, 4}}), (Values{3, 6, 10, 10}));
  const UpsampleProblem thrice{{1, 1, {3, 1, 1}}, {3, 1, 1}, UpsampleKind::linear};
  const Values along_z = run(thrice, {{3, 6, 0}});
  ASSERT_EQ(along_z.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(along_z[i], (std::array{5.0, 6.0, 4.0})[i], 1e-12);
  const UpsampleProblem plane{{1, 2, {1, 3, 3}}, {1, 2, 2}, UpsampleKind::linear};
  EXPECT_EQ(run(plane, {{16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0}}), (Values{1, 0, 0, 0, 9, 9, 9, 9}));
}

TEST(OracleActivation, Values) {
  EXPECT_DOUBLE_EQ(apply_exactly({ActivationKind::elu, 2.0F}, -1.0), 2.0 * (std::exp(-1.0) - 1.0));
  EXPECT_DOUBLE_EQ(apply_exactly({ActivationKind::sigmoid, 0}, std::log(3.0)), 0.75);
  EXPECT_DOUBLE_EQ(apply_exactly({ActivationKind::tanh, 0}, 0.3), std::tanh(0.3));
  EXPECT_DOUBLE_EQ(apply_exactly({ActivationKind::none, 0}, -4.0), -4.0);
  EXPECT_DOUBLE_EQ(apply_exactly({ActivationKind::capped_relu, 6.0F}, 9.0), 6.0);
  EXPECT_DOUBLE_EQ(apply_exactly({ActivationKind::softplus, 0}, std::log(3.0)), std::log(4.0));
}

TEST(OracleActivation, ProductsOfXAndAFactor) {
  const double x = std::log(3.0);
  EXPECT_DOUBLE_EQ(apply_exactly({ActivationKind::silu, 0}, x), 0.75 * x);
  EXPECT_DOUBLE_EQ(apply_exactly({ActivationKind::hard_swish, 0}, 1.5), 1.125);
  EXPECT_DOUBLE_EQ(apply_exactly({ActivationKind::mish, 0}, x), 15.0 / 17.0 * x);
  EXPECT_DOUBLE_EQ(apply_exactly({ActivationKind::gelu, 0}, -1.5), -0.75 * (1.0 + std::erf(-1.5 / std::sqrt(2.0))));
  const double argument = std::sqrt(2.0 / std::acos(-1.0)) * (1.5 + 0.044715 * 3.375);
  EXPECT_DOUBLE_EQ(apply_exactly({ActivationKind::gelu_tanh, 0}, 1.5), 0.75 * (1.0 + std::tanh(argument)));
}

TEST(OracleDeathTest, WantsEveryInput) {
  EXPECT_DEATH(run(AddProblem{{1, 1, {1, 1, 1}}, 2, {}}, {{1}}), "every input");
  EXPECT_DEATH(run(PoolProblem{.in = {1, 1, {2, 2, 2}}}, {{1}}), "do not fill");
}

}  // namespace
}  // namespace znni::oracle
