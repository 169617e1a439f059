#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive upsample;

namespace {

using enum Layout;

TEST(Upsample, MatchesTheOracleOnRandomProblems) {
  test::check_random(upsample, 40, [](test::Random& random) { return test::random_upsample(random); });
}

// Rows of every factor are woven differently, and vectors leave a rest.
TEST(Upsample, MatchesTheOracleForEveryFactorAndRowLength) {
  const std::unique_ptr<Device> device = test::open_cpu();
  for (const std::int64_t factor : {1, 2, 3, 4, 5}) {
    for (const std::int64_t x : {1, 7, 8, 16, 33}) {
      for (const UpsampleKind kind : {UpsampleKind::nearest, UpsampleKind::shuffle}) {
        const UpsampleProblem problem{{1, 16 * factor, {1, 2, x}}, {1, 1, factor}, kind};
        test::check_primitive(upsample, problem, *device, static_cast<std::uint64_t>(x));
      }
    }
  }
}

// Fewer tasks than workers, and several inputs whose planes are not made in order.
TEST(Upsample, MatchesTheOracleWithManyWorkers) {
  const std::unique_ptr<Device> device = test::open_cpu(9);
  test::check_primitive(upsample, UpsampleProblem{{1, 1, {1, 3, 5}}, {2, 2, 2}, UpsampleKind::nearest}, *device, 1);
  test::check_primitive(upsample, UpsampleProblem{{3, 64, {3, 3, 5}}, {2, 1, 2}, UpsampleKind::shuffle}, *device, 1);
}

TEST(Upsample, ReadsAndWritesBothLayouts) {
  const UpsampleProblem nearest{{1, 5, {4, 4, 4}}, {1, 2, 3}, UpsampleKind::nearest};
  EXPECT_EQ(test::offered_layouts(upsample, nearest, 16), (std::vector{planar, blocked16}));
  EXPECT_EQ(test::offered_layouts(upsample, nearest, 8), (std::vector{planar, blocked8}));
}

// Blocks are moved as a whole, so a block must not hold channels of two phases.
TEST(Upsample, ShufflesBlocksOnlyWhereTheOutputFillsThem) {
  const UpsampleProblem whole{{1, 128, {4, 4, 4}}, {2, 2, 2}, UpsampleKind::shuffle};
  EXPECT_EQ(test::offered_layouts(upsample, whole, 16), (std::vector{planar, blocked16}));
  const UpsampleProblem half{{1, 64, {4, 4, 4}}, {2, 2, 2}, UpsampleKind::shuffle};
  EXPECT_EQ(test::offered_layouts(upsample, half, 16), (std::vector{planar}));
  EXPECT_EQ(test::offered_layouts(upsample, half, 8), (std::vector{planar, blocked8}));
}

TEST(Upsample, EstimatesRiseWithTheBytes) {
  const DeviceSpec spec = describe_cpu(1);
  const auto seconds = [&](std::int64_t n) {
    return upsample.describe(UpsampleProblem{{1, 32, Vec3::cube(n)}}, spec).value()[0].time;
  };
  EXPECT_GT(seconds(128), 4.0 * seconds(64));
}

TEST(Upsample, RefusesOtherKindsOfLayer) {
  test::expect_refusal(upsample, AddProblem{{1, 2, {3, 3, 3}}, 2, {}}, "cpu.upsample computes nearest upsamplings");
  test::expect_refusal(upsample, UpsampleProblem{{1, 2, {3, 3, 3}}, {2, 2, 2}, UpsampleKind::linear}, "cpu.upsample");
}

}  // namespace
}  // namespace znni::cpu
