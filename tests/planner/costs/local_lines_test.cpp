#include "planner/costs/local_lines.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace znni {
namespace {

CurvePlaces places(const std::vector<double>& xs, double (*y)(double)) {
  CurvePlaces made;
  for (const double x : xs) made.push_back({x, y(x)});
  return made;
}

double cubic(double x) { return 1 - 2 * x + 0.5 * x * x + 0.25 * x * x * x; }
double straight(double x) { return 3 + 2 * x; }

TEST(PlannerLocalLines, ACubicLeavesNothing) {
  CurvePlaces points = places({0, 1, 3, 4, 6, 7}, cubic);
  for (const std::size_t point : {2, 3}) EXPECT_NEAR(off_cubic(points, point)->value(points), 0, 1e-12);
  for (const std::size_t point : {0, 1, 4, 5}) EXPECT_FALSE(off_cubic(points, point)) << "too near to an end";
  points[3].y += 2;
  EXPECT_NEAR(off_cubic(points, 3)->value(points), 2, 1e-12);
  points[2].x = points[1].x;
  EXPECT_FALSE(off_cubic(points, 3)) << "two of one x";
}

TEST(PlannerLocalLines, VariancesOfContrastsAddUp) {
  const CurvePlaces points = places({0, 1, 2, 3, 4}, straight);
  const Contrast contrast = off_cubic(points, 2).value();
  const double sixth = 1.0 / 6;
  EXPECT_NEAR(contrast.norm(), 1 + 2 * sixth * sixth + 2 * 16 * sixth * sixth, 1e-12);
  EXPECT_NEAR(contrast.variance({36, 0, 1, 0, 0}), 1 + 1, 1e-12);
  Contrast twice;
  twice.add(0, 1);
  twice.add(0, 2);
  EXPECT_EQ(twice.norm(), 9) << "weights of one point add up first";
}

TEST(PlannerLocalLines, JumpsAreHigherThanTheSlopesAroundThem) {
  CurvePlaces points = places({0, 1, 2, 3, 5, 6, 7, 8}, straight);
  for (std::size_t point = 0; point + 1 < points.size(); ++point) {
    EXPECT_NEAR(jump_behind(points, point)->value(points), 0, 1e-12) << point;
  }
  for (std::size_t point = 4; point < points.size(); ++point) points[point].y += 5;
  EXPECT_NEAR(jump_behind(points, 3)->value(points), 5, 1e-12);
  EXPECT_FALSE(jump_behind({{0, 1}, {1, 2}}, 0)) << "no slope beside it";
}

TEST(PlannerLocalLines, LinesGoThroughTheOthersWithinReach) {
  CurvePlaces points = places({0, 1, 2, 3, 4, 5}, straight);
  points[5].y = 100;
  points[2].y = -7;
  const Stretch all{0, 5};
  const LineValue near = line_of_others(points, all, 2, 1).value();
  EXPECT_NEAR(near.y, straight(2), 1e-12);
  EXPECT_NEAR(near.variance, 0.5, 1e-12) << "the middle of two";
  EXPECT_NEAR(line_of_others(points, {0, 4}, 2, 2)->variance, 0.25, 1e-12) << "the middle of four";
  EXPECT_GT(line_of_others(points, all, 2, 3)->y, straight(2) + 1) << "the point beyond a jump is within reach";
  EXPECT_NEAR(line_of_others(points, {0, 4}, 2, 3)->y, straight(2), 1e-12) << "of its stretch alone";
}

TEST(PlannerLocalLines, AtAnEndTwoOthersAreTaken) {
  const CurvePlaces points = places({0, 1, 2, 3}, straight);
  const LineValue end = line_of_others(points, {0, 3}, 3, 0).value();
  EXPECT_NEAR(end.y, straight(3), 1e-12);
  EXPECT_NEAR(end.variance, 5, 1e-12);
  EXPECT_FALSE(line_of_others(points, {2, 3}, 3, 9)) << "one other";
  EXPECT_FALSE(line_of_others({{1, 0}, {1, 1}, {1, 2}}, {0, 2}, 1, 9)) << "all of one x";
}

}  // namespace
}  // namespace znni
