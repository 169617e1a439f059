#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_softmax;

namespace {

TEST(GradSoftmax, MatchesTheOracleOnRandomProblems) {
  test::check_random_gradients(grad_softmax, 10, [](test::Random& random) {
    const Shape5 shape{random.integer(1, 3), random.integer(1, 12), random.vec3(1, 9)};
    return GradientProblem{
        AcrossChannelsProblem{shape, random.chance(0.5) ? AcrossKind::softmax : AcrossKind::log_softmax}};
  });
}

TEST(GradSoftmax, LongRowsTakeSeveralChunks) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  for (const AcrossKind kind : {AcrossKind::softmax, AcrossKind::log_softmax}) {
    test::check_gradient(grad_softmax, {AcrossChannelsProblem{{1, 3, {2, 1, 600}}, kind}}, *device, 1);
  }
}

TEST(GradSoftmax, RefusesOtherKindsOfLayer) {
  test::expect_gradient_refusal(grad_softmax, {AddProblem{{1, 2, {3, 3, 3}}, 2, {}}}, "gradients of softmax");
}

}  // namespace
}  // namespace znni::cpu
