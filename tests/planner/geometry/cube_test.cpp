#include "planner/geometry/cube.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(PlannerCube, AxesThatTheRankLacksAreOne) {
  EXPECT_EQ(cube_of(7, 3), (Vec3{7, 7, 7}));
  EXPECT_EQ(cube_of(7, 2), (Vec3{1, 7, 7}));
  EXPECT_EQ(cube_of(7, 1), (Vec3{1, 1, 7}));
}

TEST(PlannerCube, IsOneOfItsRankOnly) {
  for (const int rank : {1, 2, 3}) {
    for (const int other : {1, 2, 3}) EXPECT_EQ(is_cube(cube_of(5, other), rank), rank == other);
  }
  EXPECT_FALSE(is_cube({5, 4, 5}, 3));
  EXPECT_FALSE(is_cube({1, 4, 5}, 2));
}

}  // namespace
}  // namespace znni
