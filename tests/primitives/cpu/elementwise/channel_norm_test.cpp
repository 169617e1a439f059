#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracle/tolerance.hpp"
#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive channel_norm;

namespace {

std::vector<float> normalised(const AcrossChannelsProblem& problem, const std::vector<float>& values) {
  const std::unique_ptr<Device> device = test::open_cpu();
  const std::vector<Estimate> estimates = channel_norm.describe(problem, device->spec()).value();
  const std::vector<std::vector<float>> inputs = {values};
  return test::run_once(channel_norm, problem, estimates[0], {}, inputs, *device).values;
}

TEST(ChannelNorm, MatchesTheOracleOnRandomProblems) {
  test::check_random(channel_norm, 12, [](test::Random& random) {
    const float epsilon = random.chance(0.5) ? 1e-6F : 0.3F;
    return AcrossChannelsProblem{{random.integer(1, 3), random.integer(1, 12), random.vec3(1, 12)},
                                 random.chance(0.5) ? AcrossKind::norm : AcrossKind::unit,
                                 epsilon};
  });
}

// Planes of more voxels than one chunk, and a remainder.
TEST(ChannelNorm, MatchesTheOracleOnLargePlanes) {
  const std::unique_ptr<Device> device = test::open_cpu();
  test::check_primitive(channel_norm, AcrossChannelsProblem{{1, 5, {2, 23, 29}}, AcrossKind::norm}, *device, 1);
}

// Differences of 1 on a mean of 2^23 are lost where squares are summed in float32.
TEST(ChannelNorm, KeepsSmallDifferencesOnALargeMean) {
  const float far = 0x1p23F;
  const AcrossChannelsProblem problem{{1, 4, {1, 1, 1}}, AcrossKind::norm, 1e-5F};
  const std::vector<float> found = normalised(problem, {far, far + 1, far + 2, far + 3});
  const double deviation = std::sqrt(1.25 + 1e-5);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(found[static_cast<std::size_t>(i)], (i - 1.5) / deviation, 1e-6) << i;
}

TEST(ChannelNorm, OfOneChannelIsZero) {
  EXPECT_EQ(normalised({{1, 1, {1, 1, 2}}, AcrossKind::norm}, {7, -3}), (std::vector<float>{0, 0}));
}

// Squares that float32 does not hold: those of the first voxel overflow, those of the second are 0.
TEST(ChannelNorm, UnitLengthOfVeryLargeAndSmallVoxels) {
  const AcrossChannelsProblem problem{{1, 2, {1, 1, 2}}, AcrossKind::unit, 1e-30F};
  const std::vector<float> found = normalised(problem, {3e25F, 3e-25F, -4e25F, 4e-25F});
  const float exact[] = {0.6F, 0.6F, -0.8F, 0.8F};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], exact[i], 1e-6F) << i;
}

TEST(ChannelNorm, UnitLengthOfZerosIsZero) {
  EXPECT_EQ(normalised({{1, 2, {1, 1, 1}}, AcrossKind::unit, 1e-12F}, {0, 0}), (std::vector<float>{0, 0}));
}

TEST(ChannelNorm, RefusesOtherKindsOfLayer) {
  const std::string words = "computes normalisations of the channels of voxels";
  test::expect_refusal(channel_norm, AcrossChannelsProblem{{1, 2, {3, 3, 3}}}, words);
  test::expect_refusal(channel_norm, NormProblem{{1, 2, {3, 3, 3}}, 1}, words);
}

}  // namespace
}  // namespace znni::cpu
