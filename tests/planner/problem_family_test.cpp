#include "planner/problem_family.hpp"

#include <gtest/gtest.h>

#include "primitives/core/problem.hpp"

namespace znni {
namespace {

TEST(PlannerProblemFamily, DropsBatchAndExtentsOnly) {
  EXPECT_EQ(problem_family("conv 1x80x48x48x48 -> 80, k 5x5x5, relu"), "conv 80 -> 80, k 5x5x5, relu");
  EXPECT_EQ(problem_family("concat 2x3x4x5x6 + 2x30x4x5x6"), "concat 3 + 30");
  EXPECT_EQ(problem_family(""), "");
}

TEST(PlannerProblemFamily, OfRealProblems) {
  const ConvProblem small{{1, 8, Vec3::cube(9)}, 16, Vec3::cube(3), Vec3::cube(1), {}};
  const ConvProblem large{{64, 8, Vec3::cube(70)}, 16, Vec3::cube(3), Vec3::cube(1), {}};
  ConvProblem other = small;
  other.in.f = 9;
  EXPECT_EQ(problem_family(to_string(LayerProblem(small))), problem_family(to_string(LayerProblem(large))));
  EXPECT_NE(problem_family(to_string(LayerProblem(small))), problem_family(to_string(LayerProblem(other))));
}

}  // namespace
}  // namespace znni
