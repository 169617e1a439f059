#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive crop;

namespace {

using enum Layout;

TEST(Crop, MatchesTheOracleOnRandomProblems) {
  test::check_random(crop, 16, [](test::Random& random) {
    const Vec3 begin = random.vec3(0, 3);
    const Vec3 end = random.vec3(0, 3);
    return CropProblem{{random.integer(1, 3), random.integer(1, 40), random.vec3(1, 9) + begin + end}, begin, end};
  });
}

TEST(Crop, ReadsAndWritesBothLayouts) {
  const CropProblem problem{{1, 5, {4, 4, 4}}, {1, 0, 2}, {0, 3, 1}};
  EXPECT_EQ(test::offered_layouts(crop, problem, 16), (std::vector{planar, blocked16}));
  EXPECT_EQ(test::offered_layouts(crop, problem, 8), (std::vector{planar, blocked8}));
}

TEST(Crop, RefusesOtherKindsOfLayer) {
  test::expect_refusal(crop, AddProblem{{1, 2, {3, 3, 3}}, 2, {}}, "cpu.crop computes crops");
}

}  // namespace
}  // namespace znni::cpu
