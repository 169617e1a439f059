#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_pointwise_blocked;

namespace {

ConvProblem conv_of(const Shape5& in, std::int64_t f_out) {
  return {in, f_out, Vec3::cube(1), Vec3::cube(1), Vec3::cube(1), {}};
}

TEST(GradPointwiseBlocked, MatchesTheOracleOnRandomProblems) {
  test::check_random_gradients(grad_pointwise_blocked, 16, [](test::Random& random) {
    const Shape5 in{random.integer(1, 3), random.integer(1, 40), random.vec3(1, 20)};
    const GradientOf of = random.chance(0.5) ? GradientOf::input : GradientOf::weights;
    return GradientProblem{conv_of(in, random.integer(1, 40)), of};
  });
}

TEST(GradPointwiseBlocked, EdgesMatchTheOracle) {
  const std::unique_ptr<Device> device = test::open_cpu(3);
  const ConvProblem problems[] = {
      conv_of({1, 1, {1, 1, 1}}, 1),     // one voxel
      conv_of({2, 16, {4, 4, 16}}, 16),  // whole blocks and parts
      conv_of({9, 17, {3, 1, 17}}, 5),   // and a little more
      conv_of({1, 2, {1, 1, 5000}}, 1)   // one row
  };
  for (const ConvProblem& conv : problems) {
    for (const GradientOf of : {GradientOf::input, GradientOf::weights}) {
      test::check_gradient(grad_pointwise_blocked, {conv, of}, *device, 1);
    }
  }
}

TEST(GradPointwiseBlocked, RefusesWhatItDoesNotCompute) {
  ConvProblem conv = conv_of({1, 2, {3, 3, 3}}, 2);
  conv.stride.y = 2;
  test::expect_gradient_refusal(grad_pointwise_blocked, {conv}, "1x1x1 without stride or groups, not");
  conv.stride.y = 1;
  conv.k.x = 2;
  test::expect_gradient_refusal(grad_pointwise_blocked, {conv}, "1x1x1");
}

}  // namespace
}  // namespace znni::cpu
