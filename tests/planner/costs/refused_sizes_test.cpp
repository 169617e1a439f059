#include "planner/costs/refused_sizes.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(PlannerRefusedSizes, ASizeIsAllThatIsReadAndWritten) {
  const LayerProblem conv = ConvProblem{{2, 3, Vec3::cube(4)}, 5, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};
  EXPECT_EQ(tensors_bytes(conv, {}, {}), 4.0 * (2 * 3 * 64 + 2 * 5 * 27));
  const LayerProblem sum = AddProblem{{1, 3, Vec3::cube(4)}, 2, {}};
  EXPECT_EQ(tensors_bytes(sum, {}, {}), 4.0 * 3 * (3 * 64));
}

TEST(PlannerRefusedSizes, TheSmallestOfAKindCounts) {
  RefusedSizes sizes;
  EXPECT_TRUE(sizes.empty());
  EXPECT_FALSE(sizes.refuses("a", 1e30));
  sizes.add("a", 100);
  sizes.add("a", 50);
  sizes.add("a", 70);
  EXPECT_FALSE(sizes.empty());
  EXPECT_FALSE(sizes.refuses("a", 49));
  EXPECT_TRUE(sizes.refuses("a", 50));
  EXPECT_TRUE(sizes.refuses("a", 51));
  EXPECT_FALSE(sizes.refuses("b", 51));
}

}  // namespace
}  // namespace znni
