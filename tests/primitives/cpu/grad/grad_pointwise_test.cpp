#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_pointwise;

namespace {

ConvProblem conv_of(const Shape5& in, std::int64_t f_out) {
  return {in, f_out, Vec3::cube(1), Vec3::cube(1), Vec3::cube(1), {}};
}

TEST(GradPointwise, MatchesTheOracleOnRandomProblems) {
  test::check_random_gradients(grad_pointwise, 16, [](test::Random& random) {
    const Shape5 in{random.integer(1, 3), random.integer(1, 20), random.vec3(1, 20)};
    const GradientOf of = random.chance(0.5) ? GradientOf::input : GradientOf::weights;
    return GradientProblem{conv_of(in, random.integer(1, 20)), of};
  });
}

TEST(GradPointwise, EdgesMatchTheOracle) {
  const std::unique_ptr<Device> device = test::open_cpu(3);
  const ConvProblem problems[] = {
      conv_of({1, 1, {1, 1, 1}}, 1),    // one voxel
      conv_of({2, 4, {2, 4, 16}}, 4),   // whole blocks and vectors
      conv_of({1, 5, {3, 1, 17}}, 3),   // and a little more
      conv_of({1, 2, {1, 1, 5000}}, 1)  // one row
  };
  for (const ConvProblem& conv : problems) {
    for (const GradientOf of : {GradientOf::input, GradientOf::weights}) {
      test::check_gradient(grad_pointwise, {conv, of}, *device, 1);
    }
  }
}

TEST(GradPointwise, RefusesWhatItDoesNotCompute) {
  ConvProblem conv = conv_of({1, 2, {3, 3, 3}}, 2);
  conv.stride.y = 2;
  test::expect_gradient_refusal(grad_pointwise, {conv}, "1x1x1 without stride or groups, not");
  conv.stride.y = 1;
  conv.k.x = 2;
  test::expect_gradient_refusal(grad_pointwise, {conv}, "1x1x1");
}

// A convolution without a bias has no gradient of one.
TEST(GradPointwise, AMissingBiasIsNotWritten) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  const ConvProblem conv{.in = {1, 3, {4, 5, 6}}, .f_out = 2, .k = {1, 1, 1}, .activation = {}};
  const GradientProblem problem{conv, GradientOf::weights};
  test::GradientData data = test::gradient_data(problem, 1);
  data.bias.clear();
  const Estimate estimate = grad_pointwise.describe(problem, device->spec()).value().front();
  const test::GradientOutcome found =
      test::run_gradient(grad_pointwise, problem, estimate, data, *device, test::Placing::packed);
  test::expect_close(found.gradient, data.gradient, data.tolerance, "kernels");
}

}  // namespace
}  // namespace znni::cpu
