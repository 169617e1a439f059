#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive multiply_tensors;

namespace {

TEST(Multiply, MatchesTheOracleOnRandomProblems) {
  test::check_random(multiply_tensors, 40, [](test::Random& random) {
    const Shape5 shape{random.integer(1, 2), random.integer(1, 20), random.vec3(1, 12)};
    return MultiplyProblem{shape, random.chance(0.5) ? shape.f : 1};
  });
}

TEST(Multiply, OneChannelIsPlanar) {
  const Shape5 shape{1, 16, {3, 4, 5}};
  EXPECT_EQ(multiply_tensors.describe(MultiplyProblem{shape, 16}, describe_cpu(1)).value().size(), 2U);
  const std::vector<Estimate> gate = multiply_tensors.describe(MultiplyProblem{shape, 1}, describe_cpu(1)).value();
  ASSERT_EQ(gate.size(), 1U);
  EXPECT_EQ(gate[0].in, Format{});
}

TEST(Multiply, RefusesOtherKindsOfLayer) {
  test::expect_refusal(multiply_tensors, AcrossChannelsProblem{{1, 2, {3, 3, 3}}},
                       "cpu.multiply computes products of two tensors");
}

}  // namespace
}  // namespace znni::cpu
