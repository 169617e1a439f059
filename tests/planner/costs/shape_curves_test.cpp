#include "planner/costs/shape_curves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace znni {
namespace {

double work_of(const Shape5& input) { return 100.0 * static_cast<double>(elements(input)); }
double bytes_of(const Shape5& input) { return 4.0 * static_cast<double>(elements(input)); }

ShapedRow row(std::int64_t S, Vec3 n, Seconds seconds_of_one, std::int64_t transient = 0) {
  const Shape5 input{S, 1, n};
  return {
      input,
      {work_of(input), bytes_of(input), static_cast<double>(S) * seconds_of_one, {{MemorySpace::host, transient, 7}}}};
}

// Returns the seconds of one cube, which grow with its voxels; eight at a time take half as long for each.
Seconds seconds_of_one(std::int64_t S, std::int64_t edge) {
  return std::pow(static_cast<double>(edge), 3) / (S == 8 ? 2 : 1);
}

std::vector<ShapedRow> cubes() {
  std::vector<ShapedRow> rows;
  for (const std::int64_t S : {1, 8}) {
    for (const std::int64_t edge : {16, 32, 64})
      rows.push_back(row(S, Vec3::cube(edge), seconds_of_one(S, edge), 1000));
  }
  return rows;
}

CurvePoint at(const ShapeCurves& curves, std::int64_t S, Vec3 n) {
  const Shape5 input{S, 1, n};
  return curves.at(input, work_of(input), bytes_of(input));
}

TEST(PlannerShapeCurves, ProportionsAreWholeHalvings) {
  EXPECT_EQ(proportions({40, 48, 48}), (Proportions{0, 0}));
  EXPECT_EQ(proportions({3, 48, 48}), (Proportions{-4, 0}));
  EXPECT_EQ(proportions({48, 24, 12}), (Proportions{2, 1}));
}

TEST(PlannerShapeCurves, RowsOfOtherSKeepApart) {
  const ShapeCurves curves(cubes());
  for (const std::int64_t S : {1, 8}) {
    const CurvePoint exact = at(curves, S, Vec3::cube(32));
    EXPECT_DOUBLE_EQ(exact.seconds, static_cast<double>(S) * seconds_of_one(S, 32)) << S;
    EXPECT_TRUE(exact.inside) << S;
  }
  // Eight cubes of 32 are as much work as one of 64, and are not one row with it.
  EXPECT_DOUBLE_EQ(at(curves, 1, Vec3::cube(64)).seconds / at(curves, 8, Vec3::cube(32)).seconds, 2);
}

TEST(PlannerShapeCurves, BetweenTwoSTheSecondsOfOneInputAreInterpolated) {
  const ShapeCurves curves(cubes());
  const CurvePoint two = at(curves, 2, Vec3::cube(32));
  EXPECT_NEAR(two.seconds, 2 * seconds_of_one(1, 32) * std::pow(0.5, 1.0 / 3), 1e-6);
  EXPECT_TRUE(two.inside);
  EXPECT_EQ(two.memory.at(0).transient, 2000) << "twice what one input takes, which is more than a quarter of eight";
  EXPECT_EQ(two.memory.at(0).persistent, 7);
}

TEST(PlannerShapeCurves, BeyondTheRecordedSTimeGrowsWithS) {
  const ShapeCurves curves(cubes());
  const CurvePoint more = at(curves, 16, Vec3::cube(32));
  EXPECT_NEAR(more.seconds, 16 * seconds_of_one(8, 32), 1e-6);
  EXPECT_FALSE(more.inside);
  EXPECT_EQ(more.memory.at(0).transient, 2000);
}

TEST(PlannerShapeCurves, CubesDoNotSpeakForSlabs) {
  const ShapeCurves curves(cubes());
  EXPECT_TRUE(at(curves, 1, {40, 48, 48}).inside);
  EXPECT_FALSE(at(curves, 1, {3, 48, 48}).inside);
  EXPECT_FALSE(at(curves, 1, Vec3::cube(65)).inside);
  std::vector<ShapedRow> rows = cubes();
  rows.push_back(row(1, {3, 40, 40}, 50));
  rows.push_back(row(1, {3, 60, 60}, 90));
  const ShapeCurves with_slabs(rows);
  EXPECT_TRUE(at(with_slabs, 1, {3, 48, 48}).inside);
  EXPECT_DOUBLE_EQ(at(with_slabs, 1, {3, 40, 40}).seconds, 50);
  EXPECT_DOUBLE_EQ(at(with_slabs, 1, Vec3::cube(32)).seconds, seconds_of_one(1, 32));
}

TEST(PlannerShapeCurves, ChannelsOfNetsOfTwoAxesAreAlike) {
  const ShapeCurves curves({row(1, {1, 64, 64}, 1), row(1, {1, 256, 256}, 16)});
  const CurvePoint between = at(curves, 1, {1, 128, 128});
  EXPECT_TRUE(between.inside);
  EXPECT_NEAR(between.seconds, 4, 1e-9);
}

TEST(PlannerShapeCurves, ErrorsOutsideAreThoseOfOtherShapes) {
  const ShapeCurves curves(cubes());
  for (const double error : curves.errors_inside()) EXPECT_NEAR(error, 0, 1e-9);
  EXPECT_EQ(curves.errors_inside().size(), 2U);
  const std::vector<double> outside = curves.errors_outside();
  EXPECT_EQ(outside.size(), 10U) << "two ends of two curves, and six rows by the curve of the other S";
  EXPECT_NEAR(*std::max_element(outside.begin(), outside.end()), 1, 1e-9) << "twice as long by S of 8 as by S of 1";
  EXPECT_TRUE(ShapeCurves({row(1, Vec3::cube(8), 1)}).errors_outside().empty());
}

}  // namespace
}  // namespace znni
