#include "planner/search/extent_combinations.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace znni {
namespace {

const AxisExtents three = {std::vector<std::int64_t>{1, 4, 8}, {2, 4, 8, 16}, {3, 5}};

TEST(PlannerExtentCombinations, AllAreCounted) {
  ExtentCombinations combinations;
  combinations.add_all(three);
  EXPECT_EQ(combination_count(three), 24);
  EXPECT_EQ(combinations.found().size(), 24U);
  EXPECT_TRUE(combinations.found().contains({8, 2, 5}));
}

TEST(PlannerExtentCombinations, CubesGoAsFarAsEachAxis) {
  ExtentCombinations cubes;
  cubes.add_cubes(three, 100, false);
  EXPECT_TRUE(cubes.found().contains({8, 16, 5}));
  EXPECT_TRUE(cubes.found().contains({4, 4, 3}));
  EXPECT_FALSE(cubes.found().contains({8, 4, 3}));
  ExtentCombinations mixed;
  mixed.add_cubes(three, 100, true);
  EXPECT_TRUE(std::includes(mixed.found().begin(), mixed.found().end(), cubes.found().begin(), cubes.found().end()));
  EXPECT_TRUE(mixed.found().contains({8, 4, 5})) << "of the cubes of 5 and 8";
}

TEST(PlannerExtentCombinations, TheLargestThatFitsOrTheSmallest) {
  EXPECT_EQ(fitted({3, 5, 9}, 8), 5);
  EXPECT_EQ(fitted({3, 5, 9}, 9), 9);
  EXPECT_EQ(fitted({3, 5, 9}, 2), 3);
}

TEST(PlannerExtentCombinations, ALadderHasAboutSoMany) {
  AxisExtents many;
  for (auto& along : many) {
    for (std::int64_t n = 1; n <= 100; ++n) along.push_back(n);
  }
  const AxisExtents few = ladder(many, 1000);
  EXPECT_LE(combination_count(few), 1000);
  EXPECT_GT(combination_count(few), 300);
  for (const auto& along : few)
    EXPECT_EQ(std::pair(along.front(), along.back()), std::pair(std::int64_t{1}, std::int64_t{100}));
}

TEST(PlannerExtentCombinations, AroundOneEndsWhereExtentsEnd) {
  EXPECT_EQ(around({1, 2, 3, 4, 5, 6}, 3, 1), (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(around({1, 2, 3, 4, 5, 6}, 2, 3), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(around({1, 2, 3}, 3, 9), (std::vector<std::int64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace znni
