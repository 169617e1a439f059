#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/oracle/tolerance.hpp"
#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive arg_max;

namespace {

// Returns what a kind makes of the channels of one plane.
std::vector<float> made(AcrossKind kind, const Shape5& shape, const std::vector<float>& values) {
  const std::unique_ptr<Device> device = test::open_cpu();
  const AcrossChannelsProblem problem{shape, kind};
  const std::vector<Estimate> estimates = arg_max.describe(problem, device->spec()).value();
  const std::vector<std::vector<float>> inputs = {values};
  return test::run_once(arg_max, problem, estimates[0], {}, inputs, *device).values;
}

TEST(ArgMax, EqualsTheOracleOnRandomProblems) {
  for (const AcrossKind kind : {AcrossKind::arg_max, AcrossKind::arg_max_last}) {
    test::check_random(arg_max, 8, [kind](test::Random& random) {
      return AcrossChannelsProblem{{random.integer(1, 3), random.integer(1, 12), random.vec3(1, 12)}, kind};
    });
  }
}

// Planes of more voxels than one chunk, and a remainder.
TEST(ArgMax, EqualsTheOracleOnLargePlanes) {
  const std::unique_ptr<Device> device = test::open_cpu();
  test::check_primitive(arg_max, AcrossChannelsProblem{{1, 3, {2, 23, 29}}, AcrossKind::arg_max}, *device, 1);
}

TEST(ArgMax, OfEqualChannelsTakesTheFirstOrTheLast) {
  const Shape5 shape{1, 4, {1, 1, 3}};
  const std::vector<float> values = {1, 0, -5, 2, 0, -7, 2, 0, -5, 0, 0, -6};
  EXPECT_EQ(made(AcrossKind::arg_max, shape, values), (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(made(AcrossKind::arg_max_last, shape, values), (std::vector<float>{2, 3, 2}));
}

// Few different numbers make many equal channels.
TEST(ArgMax, EqualsTheOracleOnManyEqualChannels) {
  test::Random random(3);
  const Shape5 shape{1, 6, {3, 5, 7}};
  std::vector<float> values = random.normals(elements(shape));
  for (float& value : values) value = std::round(value);
  const std::vector<oracle::Values> exact = {oracle::widened(values)};
  for (const AcrossKind kind : {AcrossKind::arg_max, AcrossKind::arg_max_last}) {
    const std::vector<float> found = made(kind, shape, values);
    EXPECT_EQ(oracle::widened(found), oracle::oracle_run(AcrossChannelsProblem{shape, kind}, exact, {}));
  }
}

TEST(ArgMax, OfANanIsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float most = std::numeric_limits<float>::infinity();
  for (const AcrossKind kind : {AcrossKind::arg_max, AcrossKind::arg_max_last}) {
    const std::vector<float> found = made(kind, {1, 3, {1, 1, 4}}, {nan, 1, 1, -most, 1, nan, 2, -most, 2, 3, nan, -1});
    for (std::size_t voxel = 0; voxel < 3; ++voxel) EXPECT_TRUE(std::isnan(found[voxel])) << voxel;
    EXPECT_EQ(found[3], 2.0F);
  }
}

TEST(ArgMax, RefusesOtherKindsOfLayer) {
  test::expect_refusal(arg_max, AcrossChannelsProblem{{1, 2, {3, 3, 3}}}, "computes numbers of largest channels");
  test::expect_refusal(arg_max, ActivationProblem{{1, 2, {3, 3, 3}}, {}}, "computes numbers of largest channels");
}

}  // namespace
}  // namespace znni::cpu
