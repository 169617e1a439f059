#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive attention;

namespace {

TEST(Attention, MatchesTheOracleOnRandomProblems) {
  test::check_random(attention, 30, [](test::Random& random) { return test::random_attention(random); });
}

// Tokens that fill vectors and those that leave a rest, few and many.
TEST(Attention, MatchesTheOracleForEveryNumberOfTokens) {
  const std::unique_ptr<Device> device = test::open_cpu();
  for (const std::int64_t x : {1, 3, 4, 5, 31, 32, 33, 70}) {
    test::check_primitive(attention, AttentionProblem{{2, 6, {1, 2, x}}, 4, 2, 0.5F}, *device, 1);
  }
}

TEST(Attention, MatchesTheOracleWithManyWorkers) {
  const std::unique_ptr<Device> device = test::open_cpu(9);
  test::check_primitive(attention, AttentionProblem{{1, 1, {1, 1, 1}}, 1, 1}, *device, 1);
  test::check_primitive(attention, AttentionProblem{{2, 8, {3, 4, 5}}, 8, 4, 0.3F}, *device, 1);
}

// Exponentials of such scores overflow, unless the largest is taken away first.
TEST(Attention, LargeScoresChooseOneValue) {
  const std::unique_ptr<Device> device = test::open_cpu();
  const AttentionProblem problem{{1, 1, {1, 1, 3}}, 1, 1, 100.0F};
  const Estimate way = attention.describe(problem, device->spec()).value()[0];
  const std::vector<std::vector<float>> inputs = {{1, -1, 2}, {-3, 5, 4}, {10, 20, 30}};
  EXPECT_EQ(test::run_once(attention, problem, way, {}, inputs, *device).values, (std::vector<float>{20, 10, 20}));
}

TEST(Attention, RefusesOtherKindsOfLayer) {
  test::expect_refusal(attention, MultiplyProblem{{1, 2, {3, 3, 3}}, 1},
                       "cpu.attention computes attention over all voxels");
}

}  // namespace
}  // namespace znni::cpu
