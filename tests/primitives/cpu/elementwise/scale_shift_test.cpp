#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive scale_shift;

namespace {

TEST(ScaleShift, MatchesTheOracleOnRandomProblems) {
  test::check_random(scale_shift, 12, [](test::Random& random) {
    return ScaleShiftProblem{{random.integer(1, 3), random.integer(1, 35), random.vec3(1, 9)}};
  });
}

TEST(ScaleShift, HoldsItsParametersPaddedToWholeBlocks) {
  DeviceSpec spec = describe_cpu(1);
  spec.simd_floats = 16;
  const auto estimates = scale_shift.describe(ScaleShiftProblem{{1, 17, {2, 2, 2}}}, spec).value();
  ASSERT_EQ(estimates.size(), 2U);
  EXPECT_EQ(persistent_bytes(estimates[0].memory), 2 * 17 * 4);
  EXPECT_EQ(persistent_bytes(estimates[1].memory), 2 * 32 * 4);
}

TEST(ScaleShift, RefusesOtherKindsOfLayer) {
  test::expect_refusal(scale_shift, AcrossChannelsProblem{{1, 2, {3, 3, 3}}},
                       "cpu.scale_shift computes scales and shifts");
}

}  // namespace
}  // namespace znni::cpu
