#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive add;

namespace {

TEST(AddPrimitive, MatchesTheOracleOnRandomProblems) {
  test::check_random(add, 12, [](test::Random& random) {
    const Shape5 shape{random.integer(1, 3), random.integer(1, 35), random.vec3(1, 9)};
    return AddProblem{shape, static_cast<int>(random.integer(2, 5)), test::random_activation(random)};
  });
}

// A sigmoid turns zero into one half; padding channels must stay zero.
TEST(AddPrimitive, KeepsPaddingZeroUnderASigmoid) {
  const std::unique_ptr<Device> device = test::open_cpu(2, 16);
  test::check_primitive(add, AddProblem{{1, 17, {1, 2, 3}}, 2, {ActivationKind::sigmoid, 0.0F}}, *device, 3);
}

TEST(AddPrimitive, RefusesOtherKindsOfLayer) {
  test::expect_refusal(add, ConcatProblem{{{1, 2, {3, 3, 3}}}}, "cpu.add computes additions");
}

}  // namespace
}  // namespace znni::cpu
