#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "primitives/core/precision.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/support/cpu.hpp"
#include "tests/support/rounding.hpp"

namespace znni::cpu {

extern const Primitive conv_onednn_bf16;

namespace {

using FloatVector = std::vector<float>;

FloatVector rounded(FloatVector values) {
  for (float& value : values) value = test::rounded_to_bf16(value);
  return values;
}

// Returns a convolution that is taken, with strides if `strided`.
ConvProblem random_problem(test::Random& random, bool strided) {
  ConvProblem conv = strided ? test::random_strided_conv(random, 1e7) : test::random_conv(random, 1e7);
  for (int axis = 0; axis < 3; ++axis) conv.stride[axis] = std::min<std::int64_t>({2, conv.k[axis], conv.stride[axis]});
  return conv;
}

Estimate only_estimate(const ConvProblem& problem, const DeviceSpec& spec) {
  const Result<std::vector<Estimate>> estimates = conv_onednn_bf16.describe(problem, spec);
  if (!estimates) {
    ADD_FAILURE() << estimates.error().message;
    return {};
  }
  EXPECT_EQ(estimates->size(), 1U);
  return estimates->front();
}

// Number of workers.
class OnednnBf16 : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!test::takes_part(conv_onednn_bf16)) GTEST_SKIP() << "this processor lacks AVX512_BF16";
    device_ = test::open_cpu(GetParam());
  }

  // Expects the sums of the rounded numbers, as exact as in float32. The residual is not rounded.
  void expect_rounds_inputs_and_weights_alone(const ConvProblem& problem, std::uint64_t seed) {
    SCOPED_TRACE(to_string(LayerProblem(problem)) + ", seed " + std::to_string(seed));
    test::Random random(seed);
    const test::Weights weights = random_weights(problem, random);
    const std::vector<FloatVector> inputs = random_inputs(problem, random);
    test::Weights coarse = weights;
    coarse.kernels = rounded(coarse.kernels);
    std::vector<oracle::Values> exact = {oracle::widened(rounded(inputs[0]))};
    if (problem.residual) exact.push_back(oracle::widened(inputs[1]));
    const test::Outcome found = test::run_once(conv_onednn_bf16, problem, only_estimate(problem, device_->spec()),
                                               weights.view(), inputs, *device_);
    test::expect_close(found.values, oracle::oracle_run(problem, exact, coarse.view()),
                       oracle::tolerance(problem, exact, coarse.view()), "rounded");
  }

  std::unique_ptr<Device> device_;
};

TEST_P(OnednnBf16, RoundsInputsAndWeightsAlone) {
  for (int index = 0; index < test::case_count(30); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    expect_rounds_inputs_and_weights_alone(random_problem(random, index % 3 == 2), seed);
  }
}

// Within what docs/gpu.md says of bf16, of the exact result; memory, padding, windows of larger tensors, repeats.
TEST_P(OnednnBf16, RandomConvolutionsAgreeWithTheOracle) {
  for (int index = 0; index < test::case_count(15); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    test::check_primitive(conv_onednn_bf16, random_problem(random, index % 3 == 2), *device_, seed);
  }
}

// Extreme legal values of k, dilation, S, f, f_out and n; channels that pad a block; slabs that overlap.
TEST_P(OnednnBf16, EdgesAgreeWithTheOracle) {
  const ConvProblem problems[] = {
      {{1, 1, {1, 1, 1}}, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}},                               // one voxel
      {{1, 1, {9, 9, 9}}, 1, {9, 9, 9}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0}},        // k covers the input
      {{1, 16, {1, 17, 33}}, 3, {1, 4, 2}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::sigmoid, 0}},  // two dimensions
      {{2, 3, {1, 1, 70}}, 2, {1, 1, 7}, {1, 1, 3}, {1, 1, 1}, {ActivationKind::tanh, 0}},       // one dimension
      {{2, 17, {4, 6, 8}}, 3, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::gelu, 0}},       // activated apart
      {{5, 17, {4, 6, 8}}, 33, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::elu, 0.5F}},    // just above a block
      {{1, 28, {8, 9, 12}}, 28, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::softplus, 0}},
      {{1, 15, {8, 5, 12}}, 15, {3, 2, 4}, {2, 3, 1}, {1, 1, 1}, {ActivationKind::leaky_relu, 0.2F}},  // just below
      {{1, 32, {6, 11, 13}}, 9, {1, 1, 1}, {4, 4, 4}, {1, 1, 1}, {ActivationKind::relu, 0}},           // k = 1, dilated
      {{2, 16, {13, 5, 34}}, 16, {4, 2, 6}, {4, 3, 5}, {1, 1, 1}, {}},         // wide dilation, even k
      {{1, 20, {23, 43, 130}}, 7, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}, true},  // many slabs
      {{1, 3, {9, 21, 12}}, 20, {2, 2, 2}, {1, 1, 1}, {2, 1, 2}, {}, true},    // rests, strides
      {{2, 40, {9, 8, 7}}, 24, {3, 3, 3}, {1, 1, 1}, {2, 2, 2}, {ActivationKind::capped_relu, 6}},
      {{1, 32, {7, 9, 11}}, 32, {1, 2, 3}, {1, 1, 1}, {1, 2, 2}, {ActivationKind::capped_relu, 0.5F}, true},
      {{3, 48, {5, 7, 11}}, 24, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::mish, 0}, true},  // apart, residual
  };
  std::uint64_t seed = 70;
  for (const ConvProblem& problem : problems) {
    test::check_primitive(conv_onednn_bf16, problem, *device_, ++seed);
    expect_rounds_inputs_and_weights_alone(problem, seed);
  }
}

// What lies beside a window, or in channels that pad it, does not reach the window's voxel.
TEST_P(OnednnBf16, KeepsNanWhereItIsRead) {
  for (const std::int64_t f : {5, 16, 40}) {
    const ConvProblem problem{{1, f, {7, 9, 20}}, 18, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
    test::Random random(static_cast<std::uint64_t>(f));
    const test::Weights weights = random_weights(problem, random);
    std::vector<FloatVector> inputs = random_inputs(problem, random);
    inputs[0][static_cast<std::size_t>(random.integer(0, elements(problem.in) - 1))] = std::nanf("");
    inputs[0][static_cast<std::size_t>(random.integer(0, elements(problem.in) - 1))] =
        std::numeric_limits<float>::infinity();
    const std::vector<oracle::Values> exact = {oracle::widened(inputs[0])};
    const oracle::Values expected = oracle::oracle_run(problem, exact, weights.view());
    const test::Outcome found = test::run_once(conv_onednn_bf16, problem, only_estimate(problem, device_->spec()),
                                               weights.view(), inputs, *device_);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(std::isfinite(found.values[i]), std::isfinite(expected[i])) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, OnednnBf16, testing::Values(1, 2, 3));

TEST(ConvOnednnBf16, TellsItsPrecision) {
  if (!test::takes_part(conv_onednn_bf16)) GTEST_SKIP() << "this processor lacks AVX512_BF16";
  const ConvProblem problem{{1, 32, {20, 20, 20}}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  const Result<std::vector<Estimate>> estimates = conv_onednn_bf16.describe(problem, describe_cpu(2));
  ASSERT_TRUE(estimates) << estimates.error().message;
  EXPECT_EQ(precision_of(estimates->front()), Precision::bf16);
}

TEST(ConvOnednnBf16, OutlinesWhatItDescribes) {
  if (!test::takes_part(conv_onednn_bf16)) GTEST_SKIP() << "this processor lacks AVX512_BF16";
  const DeviceSpec spec = describe_cpu(2);
  for (int index = 0; index < 20; ++index) {
    test::Random random(static_cast<std::uint64_t>(index));
    const ConvProblem problem = random_problem(random, index % 2 == 1);
    const Estimate described = only_estimate(problem, spec);
    const std::vector<Estimate> outlined = conv_onednn_bf16.outline(problem, spec);
    ASSERT_EQ(outlined.size(), 1U);
    EXPECT_EQ(outlined[0].variant, described.variant);
    EXPECT_EQ(outlined[0].in, described.in);
    EXPECT_EQ(outlined[0].out, described.out);
    EXPECT_EQ(outlined[0].time, described.time);
  }
}

TEST(ConvOnednnBf16, NeedsAvx512Bf16) {
  DeviceSpec spec = describe_cpu(2);
  spec.accelerator.bf16_flops_per_second = 0;
  const ConvProblem problem{{1, 32, {20, 20, 20}}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  const Result<std::vector<Estimate>> refused = conv_onednn_bf16.describe(problem, spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("needs AVX512_BF16, which this processor lacks"));
  EXPECT_TRUE(conv_onednn_bf16.outline(problem, spec).empty());
  ConvProblem grouped = problem;
  grouped.groups = 2;
  EXPECT_FALSE(conv_onednn_bf16.describe(grouped, describe_cpu(2)));
}

// Strides that are wider than usual are refused before the library is asked.
TEST(ConvOnednnBf16, RefusesWideStrides) {
  DeviceSpec spec = describe_cpu(2);
  spec.simd_floats = 16;
  spec.accelerator.bf16_flops_per_second = 1e12;
  ConvProblem problem{{1, 32, {20, 20, 20}}, 32, {4, 1, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  EXPECT_EQ(conv_onednn_bf16.outline(problem, spec).size(), 1U);
  for (const Vec3 stride : {Vec3{3, 1, 1}, Vec3{1, 2, 1}, Vec3{1, 1, 3}}) {
    problem.stride = stride;
    EXPECT_TRUE(conv_onednn_bf16.outline(problem, spec).empty());
    const Result<std::vector<Estimate>> refused = conv_onednn_bf16.describe(problem, spec);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("strides of at most 2 that leave no voxel out"));
  }
  problem.stride = {2, 1, 2};
  EXPECT_EQ(conv_onednn_bf16.outline(problem, spec).size(), 1U);
}

// If a device says that it has instructions which the library does not use here, it is asked and not believed.
TEST(ConvOnednnBf16, AsksTheLibrary) {
  if (test::takes_part(conv_onednn_bf16)) GTEST_SKIP() << "this processor has AVX512_BF16";
  DeviceSpec spec = describe_cpu(2);
  spec.simd_floats = 16;
  spec.accelerator.bf16_flops_per_second = 1e12;
  const ConvProblem problem{{1, 32, {20, 20, 20}}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  const Result<std::vector<Estimate>> refused = conv_onednn_bf16.describe(problem, spec);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("oneDNN"));
}

// Beside its tensors and weights a layer holds what fits the caches of its workers.
TEST(ConvOnednnBf16, HoldsLittleBesideItsTensors) {
  if (!test::takes_part(conv_onednn_bf16)) GTEST_SKIP() << "this processor lacks AVX512_BF16";
  const ConvProblem problem{{1, 64, {130, 130, 130}}, 64, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  const DeviceSpec spec = describe_cpu(2);
  const Estimate estimate = only_estimate(problem, spec);
  const std::int64_t tensors =
      tensor_bytes(problem.in, estimate.in) + tensor_bytes(output_shape(problem), estimate.out);
  EXPECT_LT(peak(estimate.memory), tensors + spec.threads * 2 * spec.l2_bytes);
  EXPECT_LT(persistent_bytes(estimate.memory), 2 * 64 * 64 * 27 + 4096);
}

}  // namespace
}  // namespace znni::cpu
