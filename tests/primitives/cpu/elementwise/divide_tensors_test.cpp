#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive divide_tensors;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Divide, MatchesTheOracleOnRandomProblems) {
  test::check_random(divide_tensors, 40, [](test::Random& random) {
    const Shape5 shape{random.integer(1, 2), random.integer(1, 20), random.vec3(1, 12)};
    return DivideProblem{shape, random.chance(0.5) ? shape.f : 1};
  });
}

// Returns what every way makes of the inputs, one after the other.
std::vector<std::vector<float>> quotients(const DivideProblem& problem, const std::vector<std::vector<float>>& inputs) {
  const std::unique_ptr<Device> device = test::open_cpu();
  std::vector<std::vector<float>> all;
  const std::vector<Estimate> estimates = divide_tensors.describe(problem, device->spec()).value();
  for (const Estimate& estimate : estimates) {
    all.push_back(test::run_once(divide_tensors, problem, estimate, {}, inputs, *device).values);
  }
  return all;
}

TEST(Divide, IsRoundedOnce) {
  const DivideProblem problem{{1, 3, {4, 5, 6}}, 3};
  test::Random random(5);
  const std::vector<float> first = random.normals(elements(problem.in));
  const std::vector<float> other = random.normals(elements(problem.in));
  for (const std::vector<float>& found : quotients(problem, {first, other})) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i], static_cast<float>(static_cast<double>(first[i]) / static_cast<double>(other[i]))) << i;
    }
  }
}

TEST(Divide, By0IsInfiniteOrNan) {
  const std::vector<float> first = {1, -1, 0, 1, 0, 6};
  const std::vector<float> other = {0, 0, 0, -0.0F, 5, infinity};
  const auto all = quotients({{1, 1, {1, 1, 6}}, 1}, {first, other});
  ASSERT_EQ(all.size(), 2U);
  for (const std::vector<float>& found : all) {
    EXPECT_EQ(found[0], infinity);
    EXPECT_EQ(found[1], -infinity);
    EXPECT_TRUE(std::isnan(found[2]));
    EXPECT_EQ(found[3], -infinity);
    EXPECT_EQ(found[4], 0.0F);
    EXPECT_EQ(found[5], 0.0F);
  }
}

TEST(Divide, OneChannelIsPlanar) {
  const Shape5 shape{1, 16, {3, 4, 5}};
  EXPECT_EQ(divide_tensors.describe(DivideProblem{shape, 16}, describe_cpu(1)).value().size(), 2U);
  const std::vector<Estimate> by_one = divide_tensors.describe(DivideProblem{shape, 1}, describe_cpu(1)).value();
  ASSERT_EQ(by_one.size(), 1U);
  EXPECT_EQ(by_one[0].in, Format{});
}

TEST(Divide, RefusesOtherKindsOfLayer) {
  test::expect_refusal(divide_tensors, AcrossChannelsProblem{{1, 2, {3, 3, 3}}},
                       "cpu.divide computes quotients of two tensors");
}

}  // namespace
}  // namespace znni::cpu
