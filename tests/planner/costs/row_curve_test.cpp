#include "planner/costs/row_curve.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace znni {
namespace {

SizedRow row(double work, Seconds seconds, std::int64_t transient = 0, std::int64_t persistent = 0) {
  return {work, work / 10, seconds, {{MemorySpace::host, transient, persistent}}};
}

// Times grow with the work to the power of 1.5.
const RowCurve curve({row(100, 1, 50, 7), row(400, 8, 100, 7), row(1600, 64, 400, 7)});

TEST(PlannerRowCurve, IsExactOnRows) {
  const CurvePoint point = curve.at(400, 40);
  EXPECT_EQ(point.seconds, 8);
  EXPECT_TRUE(point.inside);
  EXPECT_EQ(point.memory, (std::vector<RecordedBytes>{{MemorySpace::host, 100, 7}}));
}

TEST(PlannerRowCurve, IsStraightInLogarithmsBetweenRows) {
  EXPECT_NEAR(curve.at(200, 20).seconds, std::pow(2.0, 1.5), 1e-12);
  EXPECT_NEAR(curve.at(800, 80).seconds, std::pow(8.0, 1.5), 1e-12);
  EXPECT_TRUE(curve.at(800, 80).inside);
}

TEST(PlannerRowCurve, GoesOnBeyondThem) {
  EXPECT_NEAR(curve.at(3200, 320).seconds, 64 * std::pow(2.0, 1.5), 1e-9);
  EXPECT_NEAR(curve.at(50, 5).seconds, std::pow(0.5, 1.5), 1e-12);
  const RowCurve one({row(100, 3)});
  EXPECT_DOUBLE_EQ(one.at(200, 20).seconds, 6);
  EXPECT_DOUBLE_EQ(one.at(50, 5).seconds, 1.5);
  const RowCurve falling({row(100, 4), row(200, 2)});  // noise: more work never takes less
  EXPECT_DOUBLE_EQ(falling.at(800, 80).seconds, 2);
  EXPECT_FALSE(curve.at(3200, 320).inside);
  EXPECT_FALSE(curve.at(50, 5).inside);
}

TEST(PlannerRowCurve, MemoryIsNeverLessThanTheNeighboursSay) {
  EXPECT_EQ(curve.at(200, 20).memory.at(0).transient, 100);  // shares of 5 and 2.5 bytes a byte
  EXPECT_EQ(curve.at(3200, 320).memory.at(0).transient, 800);
  EXPECT_EQ(curve.at(3200, 320).memory.at(0).persistent, 7);  // the same in all rows
  const RowCurve spectra({row(100, 1, 0, 10), row(200, 2, 0, 20)});
  EXPECT_EQ(spectra.at(150, 15).memory.at(0).persistent, 20);
  EXPECT_EQ(spectra.at(400, 40).memory.at(0).persistent, 40);
  EXPECT_EQ(spectra.at(50, 5).memory.at(0).persistent, 10);
}

TEST(PlannerRowCurve, ErrorsAreOfRowsLeftOut) {
  ASSERT_EQ(curve.errors_inside().size(), 1U);
  EXPECT_NEAR(curve.errors_inside()[0], 0, 1e-12);
  ASSERT_EQ(curve.errors_outside().size(), 2U);
  EXPECT_NEAR(curve.errors_outside()[0], 0, 1e-12);
  EXPECT_TRUE(RowCurve({row(1, 1)}).errors_outside().empty());
  EXPECT_NEAR(RowCurve({row(100, 1), row(200, 4), row(400, 4)}).errors_inside()[0], 1, 1e-12);
}

TEST(PlannerRowCurve, RowsOfTheSameWorkAreOne) {
  const RowCurve twice({row(100, 1, 5), row(100, 4, 3)});
  EXPECT_DOUBLE_EQ(twice.at(100, 10).seconds, 2);
  EXPECT_EQ(twice.at(100, 10).memory.at(0).transient, 5);
}

}  // namespace
}  // namespace znni
