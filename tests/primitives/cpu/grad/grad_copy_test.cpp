#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_copy;

namespace {

TEST(GradCopy, AdditionsPassTheGradientOn) {
  test::check_random_gradients(grad_copy, 6, [](test::Random& random) {
    const Shape5 shape{random.integer(1, 3), random.integer(1, 35), random.vec3(1, 9)};
    const auto inputs = static_cast<int>(random.integer(2, 5));
    return GradientProblem{AddProblem{shape, inputs, {}}, GradientOf::input, inputs - 1};
  });
}

TEST(GradCopy, AConvolutionPassesItOnToItsResidual) {
  test::check_random_gradients(grad_copy, 3, [](test::Random& random) {
    ConvProblem conv = test::random_conv(random, 1e5);
    conv.activation = {};
    conv.residual = true;
    return GradientProblem{conv, GradientOf::input, 1};
  });
}

TEST(GradCopy, InputsOfAConcatenationHaveTheirChannels) {
  test::check_random_gradients(grad_copy, 8, [](test::Random& random) {
    ConcatProblem concat{{{2, 16, random.vec3(1, 5)}}};
    for (int i = 0; i < 2; ++i)
      concat.in.push_back({2, random.chance(0.5) ? 16 : random.integer(1, 20), concat.in[0].n});
    return GradientProblem{concat, GradientOf::input, static_cast<int>(random.integer(0, 2))};
  });
}

// Blocks that hold channels of two inputs are not copied whole.
TEST(GradCopy, SharedBlocksArePlanar) {
  const Vec3 n = Vec3::cube(2);
  const ConcatProblem concat{{{1, 16, n}, {1, 5, n}, {1, 5, n}}};
  const auto formats = [&](int input) {
    return grad_copy.describe({concat, GradientOf::input, input}, describe_cpu(1)).value().size();
  };
  EXPECT_EQ(formats(0), 2U);
  EXPECT_EQ(formats(1), 1U);
  EXPECT_EQ(formats(2), 1U);
}

TEST(GradCopy, ACropIsSurroundedByZeros) {
  test::check_random_gradients(grad_copy, 6, [](test::Random& random) {
    CropProblem crop{{2, random.integer(1, 20), random.vec3(1, 6)}, random.vec3(0, 3), random.vec3(0, 3)};
    crop.in.n = crop.in.n + crop.begin + crop.end;
    return GradientProblem{crop};
  });
}

TEST(GradCopy, RefusesOtherKindsOfLayer) {
  const ConvProblem conv{{1, 2, {3, 3, 3}}, 2, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}, true};
  test::expect_gradient_refusal(grad_copy, {conv}, "cpu.grad.copy computes gradients of layers that move");
}

}  // namespace
}  // namespace znni::cpu
