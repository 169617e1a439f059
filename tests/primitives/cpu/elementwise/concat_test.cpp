#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive concat;

namespace {

using enum Layout;

TEST(Concat, MatchesTheOracleOnRandomProblems) {
  test::check_random(concat, 12, [](test::Random& random) {
    ConcatProblem problem;
    const std::int64_t S = random.integer(1, 3);
    const Vec3 n = random.vec3(1, 9);
    const bool whole_blocks = random.chance(0.5);
    for (std::int64_t more = random.integer(0, 3); more >= 0; --more) {
      const std::int64_t f = whole_blocks && more > 0 ? 16 * random.integer(1, 2) : random.integer(1, 20);
      problem.in.push_back({S, f, n});
    }
    return problem;
  });
}

TEST(Concat, TakesBlockedTensorsOnlyWhereBlocksStayWhole) {
  const Vec3 n{2, 2, 2};
  const ConcatProblem whole{{{1, 16, n}, {1, 32, n}, {1, 3, n}}};
  EXPECT_EQ(test::offered_layouts(concat, whole, 16), (std::vector{planar, blocked16}));
  const ConcatProblem halves{{{1, 8, n}, {1, 16, n}}};
  EXPECT_EQ(test::offered_layouts(concat, halves, 16), (std::vector{planar}));
  EXPECT_EQ(test::offered_layouts(concat, halves, 8), (std::vector{planar, blocked8}));
}

TEST(Concat, RefusesOtherKindsOfLayer) {
  test::expect_refusal(concat, AddProblem{{1, 2, {3, 3, 3}}, 2, {}}, "cpu.concat computes concatenations");
}

}  // namespace
}  // namespace znni::cpu
