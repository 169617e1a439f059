#include "planner/costs/problem_family.hpp"

#include <gtest/gtest.h>

#include "primitives/core/problem.hpp"

namespace znni {
namespace {

TEST(PlannerProblemFamily, DropsBatchAndExtentsOnly) {
  EXPECT_EQ(problem_family("conv 1x80x48x48x48 -> 80, k 5x5x5, relu"), "conv 80 -> 80, k 5x5x5, relu");
  EXPECT_EQ(problem_family("concat 2x3x4x5x6 + 2x30x4x5x6"), "concat 3 + 30");
  EXPECT_EQ(problem_family("max pool 8x80x9x9x9, window 2x2x2, stride 2x2x2, fragments of 2x2x2 in groups 2x1x1"),
            "max pool 80, window 2x2x2, stride 2x2x2, fragments in groups 2x1x1");
  EXPECT_EQ(problem_family("max pool 8x80x9x9x9, window 2x2x2, stride 2x2x2, fragments of 2x2x2"),
            "max pool 80, window 2x2x2, stride 2x2x2, fragments");
  EXPECT_EQ(problem_family("conv 1x80x48x48x48 -> 80, k 5x5x5, stride 2x2x2"), "conv 80 -> 80, k 5x5x5, stride 2x2x2");
  EXPECT_EQ(problem_family("upsample shuffle 1x80x9x9x9, factor 2x2x2"), "upsample shuffle 80, factor 2x2x2");
  EXPECT_EQ(problem_family(""), "");
}

TEST(PlannerProblemFamily, ClassesAreOperationAndWindow) {
  EXPECT_EQ(problem_class("conv 1x80x48x48x48 -> 80, k 5x5x5, dilation 2x2x2, relu"), "conv k 5x5x5");
  EXPECT_EQ(problem_class("conv 1x80x48x48x48 -> 3, k 5x5x5"), "conv k 5x5x5");
  EXPECT_EQ(problem_class("max pool 8x80x9x9x9, window 2x2x2, stride 2x2x2, plain"), "max pool window 2x2x2");
  EXPECT_EQ(problem_class("softmax 1x2x3x4x5"), "softmax");
  EXPECT_EQ(problem_class("arg max last 1x2x3x4x5"), "arg max last");
  EXPECT_EQ(problem_class("upsample nearest 1x2x3x4x5, factor 2x2x2"), "upsample nearest");
  EXPECT_EQ(problem_class("scale and shift 1x2x3x4x5"), "scale and shift");
  EXPECT_EQ(
      problem_class("conv 1x1x9x9x9 -> 4, k 2x2x2, relu, then max pool 1x4x8x8x8, window 2x2x2, stride 2x2x2, plain"),
      "conv k 2x2x2, then max pool window 2x2x2")
      << "is not that of a convolution alone";
  EXPECT_EQ(problem_class(""), "");
}

TEST(PlannerProblemFamily, OfRealProblems) {
  const ConvProblem small{{1, 8, Vec3::cube(9)}, 16, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};
  const ConvProblem large{{64, 8, Vec3::cube(70)}, 16, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};
  ConvProblem other = small;
  other.in.f = 9;
  EXPECT_EQ(problem_family(to_string(LayerProblem(small))), problem_family(to_string(LayerProblem(large))));
  EXPECT_NE(problem_family(to_string(LayerProblem(small))), problem_family(to_string(LayerProblem(other))));
}

}  // namespace
}  // namespace znni
