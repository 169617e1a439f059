#include "tests/oracle/tolerance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "tests/support/rounding.hpp"

namespace znni::oracle {
namespace {

ConvProblem conv_of(std::int64_t f, std::int64_t k) {
  return {{1, f, Vec3::cube(k + 3)}, 2, Vec3::cube(k), {1, 1, 1}, {1, 1, 1}, {}};
}

struct Data {
  std::vector<float> in;
  std::vector<float> kernels;
};

Data data_of(const ConvProblem& conv, float mean) {
  std::mt19937 engine(3);
  std::normal_distribution<float> normal(mean);
  Data data{std::vector<float>(static_cast<std::size_t>(elements(conv.in))),
            std::vector<float>(static_cast<std::size_t>(conv.f_out * conv.in.f * voxels(conv.k)))};
  for (float& value : data.in) value = normal(engine);
  for (float& value : data.kernels) value = normal(engine);
  return data;
}

// A straightforward float32 evaluation must pass, with mixed signs and with equal ones.
TEST(Tolerance, AdmitsPlainFloat32Sums) {
  for (const auto& [f, k] : {std::pair{1, 1}, std::pair{3, 3}, std::pair{40, 3}, std::pair{8, 7}}) {
    for (const float mean : {0.0F, 5.0F}) {
      const ConvProblem conv = conv_of(f, k);
      const Data data = data_of(conv, mean);
      const LayerWeights weights{data.kernels, {}, {}, {}};
      const std::vector<Values> inputs = {widened(data.in)};
      const Values exact = oracle_run(conv, inputs, weights);
      const std::int64_t edge = k + 3;
      float sum = 0.0F;  // output voxel 0 of channel 0
      for (std::int64_t term = 0; term < f * voxels(conv.k); ++term) {
        const std::int64_t i = term / voxels(conv.k);
        const std::int64_t at = ((i * edge + term / (k * k) % k) * edge + term / k % k) * edge + term % k;
        sum += data.kernels[static_cast<std::size_t>(term)] * data.in[static_cast<std::size_t>(at)];
      }
      EXPECT_LE(std::abs(static_cast<double>(sum) - exact[0]), tolerance(conv, inputs, weights)) << f << " " << k;
    }
  }
}

// Returns `value` without its last `bits` bits of mantissa.
float cut(float value, unsigned bits) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & ~((1U << bits) - 1U));
}

// Factors with fewer bits pass with the tolerance of their precision, but not with that of float32.
TEST(Tolerance, OfACoarserPrecisionAdmitsItsRoundings) {
  const ConvProblem conv = conv_of(8, 3);
  Data data = data_of(conv, 1.0F);
  const Data whole = data;
  const LayerWeights weights{whole.kernels, {}, {}, {}};
  const std::vector<Values> inputs = {widened(whole.in)};
  const Values exact = oracle_run(conv, inputs, weights);
  for (const auto& [precision, bits] : {std::pair{Precision::tf32, 13U}, std::pair{Precision::bf16, 16U}}) {
    for (float& value : data.in) value = cut(value, bits);
    for (float& value : data.kernels) value = cut(value, bits);
    const std::vector<Values> rounded = {widened(data.in)};
    const Values found = oracle_run(conv, rounded, LayerWeights{data.kernels, {}, {}, {}});
    double furthest = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) furthest = std::max(furthest, std::abs(found[i] - exact[i]));
    EXPECT_LE(furthest, tolerance(conv, inputs, weights, precision));
    EXPECT_GT(furthest, tolerance(conv, inputs, weights, Precision::fp32));
  }
}

// The joint error of the outputs distinguishes TF32 from bf16; the tolerance of TF32 also admits bf16.
TEST(Tolerance, ALayerInBf16DoesNotWalkLikeOneInTf32) {
  const ConvProblem conv = conv_of(8, 3);
  const Data whole = data_of(conv, 0.0F);
  const LayerWeights weights{whole.kernels, {}, {}, {}};
  const std::vector<Values> inputs = {widened(whole.in)};
  const Values exact = oracle_run(conv, inputs, weights);
  const double allowed = tolerance(conv, inputs, weights, Precision::tf32);
  for (const Precision precision : {Precision::tf32, Precision::bf16}) {
    Data data = whole;
    for (float& value : data.in) value = test::rounded(value, precision);
    for (float& value : data.kernels) value = test::rounded(value, precision);
    const std::vector<Values> rounded = {widened(data.in)};
    const Values found = oracle_run(conv, rounded, LayerWeights{data.kernels, {}, {}, {}});
    for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_LE(std::abs(found[i] - exact[i]), allowed) << i;
    Walk walk;
    walk.add(1, std::vector<float>(found.begin(), found.end()), exact);
    EXPECT_LT(walk.unit(), test::unit_of(precision));
    EXPECT_EQ(walk.unit() > test::unit_of(Precision::tf32), precision == Precision::bf16);
  }
}

// One wrong voxel of one input channel, off by one part in a hundred, must not pass.
TEST(Tolerance, CatchesAWrongTerm) {
  const ConvProblem conv = conv_of(16, 3);
  const Data data = data_of(conv, 0.0F);
  const LayerWeights weights{data.kernels, {}, {}, {}};
  std::vector<Values> inputs = {widened(data.in)};
  const Values right = oracle_run(conv, inputs, weights);
  const double allowed = tolerance(conv, inputs, weights);
  inputs[0][0] *= 1.0 + 1e-2;
  inputs[0][0] += 1e-2;
  const Values wrong = oracle_run(conv, inputs, weights);
  EXPECT_GT(std::abs(wrong[0] - right[0]), allowed);
}

TEST(Tolerance, IsRelativeToTheData) {
  const ConvProblem conv = conv_of(4, 3);
  const Data data = data_of(conv, 0.0F);
  const LayerWeights weights{data.kernels, {}, {}, {}};
  std::vector<Values> inputs = {widened(data.in)};
  const double once = tolerance(conv, inputs, weights);
  for (double& value : inputs[0]) value *= 1024.0;
  EXPECT_DOUBLE_EQ(tolerance(conv, inputs, weights), 1024.0 * once);
}

// The tolerance of outputs that read no larger values is that of inputs with no larger values.
TEST(Tolerance, WithinIsThatOfInputsAsLarge) {
  const ConvProblem conv = conv_of(4, 3);
  const Data data = data_of(conv, 0.0F);
  const LayerWeights weights{data.kernels, {}, {}, {}};
  const std::vector<Values> inputs = {Values(data.in.size(), -3.0)};
  const double largest = 3.0;
  EXPECT_EQ(tolerance_within(conv, std::span(&largest, 1), weights), tolerance(conv, inputs, weights));
}

// If all inputs are off by the maximum, in the worst directions, outputs are off by no more, and some by exactly that.
TEST(Tolerance, CarriedIsTheMostThatInputsCanDo) {
  const ConvProblem conv{
      {1, 1, {1, 1, 3}}, 1, {1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::leaky_relu, 2.0F}, true};
  const std::vector<float> kernels = {1, -2, 4};
  const LayerWeights weights{kernels, {}, {}, {}};
  const std::vector<double> errors = {0.5, 0.25};
  EXPECT_DOUBLE_EQ(carried(conv, errors, weights), 2.0 * (7.0 * 0.5 + 0.25));
  const std::vector<Values> off = {{-0.5, 0.5, -0.5}, {-0.25}};
  EXPECT_DOUBLE_EQ(-oracle_run(conv, off, weights)[0], carried(conv, errors, weights));
  const Shape5 shape{1, 2, {1, 1, 1}};
  const std::vector<float> scale = {0.5F, -3.0F};
  EXPECT_DOUBLE_EQ(carried(AddProblem{shape, 2, {}}, errors, {}), 0.75);
  EXPECT_DOUBLE_EQ(carried(ConcatProblem{{shape, shape}}, errors, {}), 0.5);
  EXPECT_DOUBLE_EQ(carried(ScaleShiftProblem{shape}, std::span(errors).first(1), {{}, {}, scale, scale}), 1.5);
  EXPECT_DOUBLE_EQ(carried(PReluProblem{shape}, std::span(errors).first(1), {{}, {}, scale, {}}), 1.5);
  EXPECT_DOUBLE_EQ(carried(PReluProblem{shape}, std::span(errors).first(1), {{}, {}, std::span(scale).first(1), {}}),
                   0.5);
}

TEST(Tolerance, OfANormalisationFollowsTheSmallestDeviation) {
  const std::vector<float> scale = {2, 1};
  const std::vector<float> shift = {0, 1};
  const LayerWeights weights{{}, {}, scale, shift};
  const NormProblem problem{{1, 2, {1, 1, 2}}, 2, 0.25F};
  const auto of = [&](Values values) { return tolerance(problem, std::array{std::move(values)}, weights); };
  EXPECT_DOUBLE_EQ(of({1, -1, 1, 1}), of({1, 1, 0.5, -1}));  // of equal voxels epsilon is left
  EXPECT_LT(of({1, -1, -1, 1}), of({1, -1, 1, 1}));
  EXPECT_LT(of({1, -1, -1, 1}), 100 * 0x1p-24);
}

TEST(Tolerance, IsZeroWhereNothingIsRounded) {
  const Shape5 shape{1, 2, {2, 2, 2}};
  const std::vector<Values> inputs = {Values(16, 3.0)};
  EXPECT_EQ(tolerance(PoolProblem{.in = shape}, inputs, {}), 0.0);
  EXPECT_EQ(tolerance(GlobalPoolProblem{shape, PoolKind::max}, inputs, {}), 0.0);
  EXPECT_EQ(tolerance(ConcatProblem{{shape}}, inputs, {}), 0.0);
  EXPECT_EQ(tolerance(ReorderProblem{shape, {}, {}}, inputs, {}), 0.0);
  EXPECT_EQ(tolerance(ActivationProblem{shape, {ActivationKind::relu, 0}}, inputs, {}), 0.0);
  EXPECT_GT(tolerance(ActivationProblem{shape, {ActivationKind::tanh, 0}}, inputs, {}), 0.0);
  EXPECT_EQ(tolerance(AcrossChannelsProblem{shape, AcrossKind::arg_max}, inputs, {}), 0.0);
  for (const AcrossKind kind : {AcrossKind::softmax, AcrossKind::log_softmax, AcrossKind::norm}) {
    EXPECT_GT(tolerance(AcrossChannelsProblem{shape, kind}, inputs, {}), 0.0);
  }
}

}  // namespace
}  // namespace znni::oracle
