#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive prelu;

namespace {

TEST(PRelu, MatchesTheOracleOnRandomProblems) {
  test::check_random(prelu, 12, [](test::Random& random) {
    return PReluProblem{{random.integer(1, 3), random.integer(1, 35), random.vec3(1, 9)}};
  });
}

TEST(PRelu, HoldsItsSlopesPaddedToWholeBlocks) {
  DeviceSpec spec = describe_cpu(1);
  spec.simd_floats = 16;
  const auto estimates = prelu.describe(PReluProblem{{1, 17, {2, 2, 2}}}, spec).value();
  ASSERT_EQ(estimates.size(), 2U);
  EXPECT_EQ(persistent_bytes(estimates[0].memory), 17 * 4);
  EXPECT_EQ(persistent_bytes(estimates[1].memory), 32 * 4);
}

TEST(PRelu, RefusesOtherKindsOfLayer) {
  test::expect_refusal(prelu, ScaleShiftProblem{{1, 2, {3, 3, 3}}},
                       "cpu.prelu computes rectifiers with a slope for each channel");
}

}  // namespace
}  // namespace znni::cpu
