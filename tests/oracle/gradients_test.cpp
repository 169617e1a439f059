#include "tests/oracle/gradients.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random.hpp"

namespace znni::oracle {
namespace {

// A layer, its data and the derivatives by its output.
struct Example {
  LayerProblem problem;
  test::Weights weights;
  std::vector<Values> inputs;
  Values output;
};

Example example_of(const LayerProblem& problem, test::Random& random) {
  Example example{problem, test::random_weights(problem, random), {}, {}};
  for (const std::vector<float>& input : test::random_trained_inputs(problem, random)) {
    example.inputs.push_back(widened(input));
  }
  example.output = widened(random.normals(elements(output_shape(problem))));
  return example;
}

// Returns the number whose derivatives by the output are those of the example.
double value_of(const Example& example) {
  const Values out = oracle_run(example.problem, example.inputs, example.weights.view());
  double sum = 0.0;
  for (std::size_t i = 0; i < out.size(); ++i) sum += example.output[i] * out[i];
  return sum;
}

// Returns the derivative by `parameter` of the example's value, by a central difference of about `step` to either side.
template <class Parameter>
double difference(const Example& example, Parameter& parameter, double step) {
  const Parameter kept = parameter;
  parameter = static_cast<Parameter>(kept + step);
  const auto above = static_cast<double>(parameter);
  const double more = value_of(example);
  parameter = static_cast<Parameter>(kept - step);
  const auto below = static_cast<double>(parameter);
  const double less = value_of(example);
  parameter = kept;
  return (more - less) / (above - below);
}

// Compares up to 12 elements, chosen at random.
template <class Parameters>
void expect_differences(const Example& example, Parameters& parameters, const Values& gradient, double step,
                        test::Random& random) {
  ASSERT_EQ(parameters.size(), gradient.size());
  for (int i = 0; i < 12; ++i) {
    const auto at = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(gradient.size()) - 1));
    // What lies outside of an average's volume stays there.
    const bool is_outside = std::isinf(parameters[at]);
    const double found = is_outside ? 0.0 : difference(example, parameters[at], step);
    EXPECT_NEAR(gradient[at], found, 1e-6) << "element " << at;
  }
}

// Compares gradients with differences. Kernels and slopes are float32, and a convolution without activation is linear
// in them, as a rectifier is in its slopes: steps may be large.
void check_differences(const LayerProblem& problem, test::Random& random) {
  SCOPED_TRACE(to_string(problem));
  Example example = example_of(problem, random);
  const Gradients found = gradients(problem, example.inputs, example.weights.view(), example.output);
  ASSERT_EQ(found.inputs.size(), example.inputs.size());
  for (std::size_t index = 0; index < found.inputs.size(); ++index) {
    expect_differences(example, example.inputs[index], found.inputs[index], 1e-5, random);
  }
  if (!found.scale.empty()) expect_differences(example, example.weights.scale, found.scale, 0.5, random);
  if (std::holds_alternative<ScaleShiftProblem>(problem)) {
    expect_differences(example, example.weights.shift, found.bias, 0.5, random);
  }
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || conv->activation.kind != ActivationKind::none) return;
  expect_differences(example, example.weights.kernels, found.kernels, 0.5, random);
  if (!example.weights.bias.empty()) expect_differences(example, example.weights.bias, found.bias, 0.5, random);
}

TEST(OracleGradients, OfConvolutionsAreFiniteDifferences) {
  for (int i = 0; i < test::case_count(30); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    ConvProblem conv = i % 3 == 0   ? test::random_strided_conv(random, 2e5)
                       : i % 3 == 1 ? test::random_grouped_conv(random, 2e5)
                                    : test::random_conv(random, 2e5);
    if (random.chance(0.6)) conv.activation = {};
    check_differences(conv, random);
  }
}

TEST(OracleGradients, OfPoolingsAreFiniteDifferences) {
  for (int i = 0; i < test::case_count(40); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const PoolMode mode = i % 2 == 0 ? PoolMode::plain : PoolMode::fragments;
    PoolProblem pool = i % 4 < 2 ? test::random_pool(random, mode) : test::random_dilated_pool(random, mode);
    pool.in.f = random.integer(1, 3);
    check_differences(pool, random);
  }
}

TEST(OracleGradients, OfAveragesOfWhatLiesInsideAreFiniteDifferences) {
  for (int i = 0; i < test::case_count(40); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    PoolProblem pool = test::random_dilated_pool(random, PoolMode::plain);
    pool.kind = PoolKind::average_inside;
    pool.in.f = random.integer(1, 3);
    check_differences(pool, random);
  }
}

TEST(OracleGradients, OfOtherLayersAreFiniteDifferences) {
  for (int i = 0; i < test::case_count(40); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Shape5 shape{random.integer(1, 3), random.integer(1, 6), random.vec3(2, 5)};
    Shape5 other = shape;
    other.f = random.integer(1, 4);
    check_differences(ActivationProblem{shape, test::random_activation(random)}, random);
    check_differences(AddProblem{shape, 3, test::random_activation(random)}, random);
    check_differences(ConcatProblem{{shape, other, shape}}, random);
    check_differences(CropProblem{shape, {1, 0, 1}, {0, 1, 0}}, random);
    check_differences(AcrossChannelsProblem{shape}, random);
    check_differences(AcrossChannelsProblem{shape, AcrossKind::log_softmax}, random);
    check_differences(PReluProblem{shape}, random);
    check_differences(ScaleShiftProblem{shape}, random);
    check_differences(MultiplyProblem{shape, random.chance(0.5) ? shape.f : 1}, random);
    check_differences(DivideProblem{shape, random.chance(0.5) ? shape.f : 1}, random);
  }
}

TEST(OracleGradients, OfUpsamplingsAreFiniteDifferences) {
  for (int i = 0; i < test::case_count(12); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    check_differences(i % 2 == 0 ? test::random_upsample(random) : test::random_linear_upsample(random), random);
  }
}

TEST(OracleGradients, EveryActivationIsAFiniteDifference) {
  for (int kind = 0; kind <= static_cast<int>(last_activation_kind); ++kind) {
    const Activation activation{static_cast<ActivationKind>(kind), 1.5F};
    for (const double x : {-7.1, -2.9, -1.3, -0.2, 0.3, 1.2, 2.8, 6.5}) {
      const double found = (apply_exactly(activation, x + 1e-5) - apply_exactly(activation, x - 1e-5)) / 2e-5;
      EXPECT_NEAR(slope_exactly(activation, x), found, 1e-8) << to_string(activation.kind) << " at " << x;
    }
  }
}

TEST(OracleGradients, KinksTakeTheSlopeBelowThem) {
  EXPECT_EQ(slope_exactly({ActivationKind::relu, 0}, 0.0), 0.0);
  EXPECT_EQ(slope_exactly({ActivationKind::leaky_relu, 0.25F}, 0.0), 0.25);
  EXPECT_EQ(slope_exactly({ActivationKind::capped_relu, 6.0F}, 0.0), 0.0);
  EXPECT_EQ(slope_exactly({ActivationKind::capped_relu, 6.0F}, 6.0), 0.0);
}

TEST(OracleGradients, TheFirstOfEqualMaximaHasTheDerivative) {
  const PoolProblem pool{
      .in = {1, 1, {1, 1, 5}}, .window = {1, 1, 2}, .stride = {1, 1, 2}, .mode = PoolMode::fragments};
  const std::vector<Values> in = {{1, 1, 1, 0, 0}};
  EXPECT_EQ(gradients(pool, in, {}, {1, 10, 100, 1000}).inputs[0], (Values{1, 100, 10, 1000, 0}));
}

TEST(OracleGradientsDeathTest, RefusesWhatItDoesNotKnow) {
  const Shape5 shape{1, 1, {1, 1, 1}};
  const std::vector<Values> in = {{1}};
  EXPECT_DEATH(static_cast<void>(gradients(GlobalPoolProblem{shape}, in, {}, {1})), "no gradients");
  const UpsampleProblem aligned{shape, Vec3::cube(1), UpsampleKind::aligned};
  EXPECT_DEATH(static_cast<void>(gradients(aligned, in, {}, {1})), "align corners");
  EXPECT_DEATH(static_cast<void>(gradients(ActivationProblem{shape, {}}, in, {}, {})), "every output");
}

}  // namespace
}  // namespace znni::oracle
