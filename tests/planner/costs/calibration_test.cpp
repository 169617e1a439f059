#include "planner/costs/calibration.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace znni {
namespace {

Observation row(const std::string& primitive, const std::string& way, const std::string& family, Seconds modelled,
                Seconds seconds) {
  return {primitive, way, family, family.substr(0, 1), modelled, seconds};
}

Observation question(const std::string& primitive, const std::string& way, const std::string& family,
                     Seconds modelled = 1) {
  return row(primitive, way, family, modelled, 0);
}

TEST(PlannerCalibration, WithoutRowsFormulasStandAndNobodyKnows) {
  const Calibration none;
  EXPECT_EQ(none.correct(question("p", "w", "f")).factor, 1);
  EXPECT_EQ(none.correct(question("p", "w", "f")).error, 0);
  EXPECT_TRUE(none.residuals().empty());
}

// Returns the mean of `count` logarithms to base 2, which add up to `sum`, and of what farther rows say, which counts
// as one more.
double weighed_in(double sum, double count, double farther) { return (sum + farther) / (count + 1); }

TEST(PlannerCalibration, TheNearestRowsCountMostAndFartherOnesALittle) {
  const Calibration calibration({row("p", "w", "a1", 1, 2), row("p", "v", "a1", 1, 4), row("p", "w", "a2", 1, 8),
                                 row("p", "w", "b1", 1, 16), row("q", "w", "c1", 1, 32)});
  const double all = weighed_in(10, 4, weighed_in(10, 4, 0));  // last the formula
  const double of_class = weighed_in(6, 3, all);
  const double of_family = weighed_in(3, 2, of_class);
  const auto factor = [&](const std::string& primitive, const std::string& way, const std::string& family) {
    return std::log2(calibration.correct(question(primitive, way, family)).factor);
  };
  EXPECT_NEAR(factor("p", "w", "a1"), weighed_in(1, 1, of_family), 1e-9);
  EXPECT_NEAR(factor("p", "x", "a1"), of_family, 1e-9);
  EXPECT_NEAR(factor("p", "x", "a2"), weighed_in(3, 1, of_class), 1e-9);
  EXPECT_NEAR(factor("p", "w", "a3"), of_class, 1e-9);
  EXPECT_NEAR(factor("p", "w", "d1"), all, 1e-9);
  EXPECT_NEAR(factor("r", "w", "c1"), 5, 1e-9);  // another primitive
  EXPECT_NEAR(factor("r", "w", "d1"), 0, 1e-9);
}

TEST(PlannerCalibration, RowsOfAboutTheSameTimeCountMost) {
  const Calibration calibration({row("p", "w", "a1", 1, 2), row("p", "w", "a1", 1000, 8000)});
  EXPECT_LT(calibration.correct(question("p", "w", "a1", 1)).factor, 2.1);
  EXPECT_GT(calibration.correct(question("p", "w", "a1", 1000)).factor, 7);
}

TEST(PlannerCalibration, WindowsOfAboutTheSameSizeCountMost) {
  Observation small = row("p", "w", "a1", 1, 7);
  Observation large = row("p", "w", "b1", 1, 1);
  large.window = 125;
  const Calibration calibration({small, large});
  Observation asked = question("p", "w", "c1");
  asked.window = 64;
  EXPECT_LT(calibration.correct(asked).factor, 2);
  asked.window = 1;
  EXPECT_GT(calibration.correct(asked).factor, 3);
}

// Rows of other sizes correct by what all rows have in common.
TEST(PlannerCalibration, TheFartherFromEveryRowTheLessIsCorrected) {
  const Calibration calibration({row("p", "w", "a1", 1, 7), row("p", "w", "b1", 1, 7)});
  double before = 7;
  for (const Seconds modelled : {1.0, 10.0, 100.0, 1e6}) {
    const double factor = calibration.correct(question("p", "w", "c1", modelled)).factor;
    EXPECT_LT(factor, before);
    before = factor;
  }
  EXPECT_NEAR(before, std::pow(7, 2 / 3.0), 0.05);
}

TEST(PlannerCalibration, RowsOfABusyMachineCountLittle) {
  Observation calm = row("p", "w", "a1", 1, 2);
  Observation busy = row("p", "w", "a1", 1, 16);
  busy.busy = true;
  EXPECT_LT(Calibration({calm, busy}).correct(question("p", "w", "a1")).factor, 2.3);
  EXPECT_GT(Calibration({busy}).correct(question("p", "w", "a1")).factor, 14);  // better than nothing
}

TEST(PlannerCalibration, WhatBusyRowsMissByIsNotTheFormulasFault) {
  std::vector<Observation> rows;
  for (int i = 0; i < 10; ++i) {
    rows.push_back(row("p", "w", "a1", 1, i % 2 == 0 ? 2 : 9));
    rows.back().busy = i % 2 != 0;
  }
  EXPECT_LT(Calibration(rows).correct(question("p", "w", "a1")).error, 0.2);
  for (Observation& each : rows) each.busy = true;
  EXPECT_GT(Calibration(rows).correct(question("p", "w", "a1")).error, 0.9);
}

TEST(PlannerCalibration, ErrorBarsAreWhatRowsLeftOutShow) {
  std::vector<Observation> steady;
  std::vector<Observation> wild;
  for (int i = 0; i < 10; ++i) {
    steady.push_back(row("p", "w", "a1", 1, 3));
    wild.push_back(row("p", "w", "a1", 1, i % 2 == 0 ? 1 : 4));
  }
  EXPECT_EQ(Calibration(steady).correct(question("p", "w", "a1")).error, 0.02);  // nothing is surer
  EXPECT_GT(Calibration(wild).correct(question("p", "w", "a1")).error, 0.9);
  // Another primitive is not known to err like this one's own rows: its bar is that of all.
  EXPECT_GT(Calibration(wild).correct(question("q", "w", "a1")).factor, 1.5);
  wild.resize(3);
  EXPECT_EQ(Calibration(wild).correct(question("p", "w", "a1")).error, 0);  // three rows tell nothing
}

TEST(PlannerCalibration, ResidualsTellWhatTheFitIsWorth) {
  std::vector<Observation> rows;
  for (int i = 1; i <= 9; ++i) rows.push_back(row("p", "w", "a1", i, 3.0 * i));
  rows.push_back(row("q", "w", "z1", 1, 1));
  const std::vector<Calibration::Residuals> residuals = Calibration(rows).residuals();
  ASSERT_EQ(residuals.size(), 2U);
  EXPECT_EQ(residuals[0].primitive, "p");
  EXPECT_EQ(residuals[0].rows, 9U);
  EXPECT_NEAR(residuals[0].factor, 3, 1e-9);
  EXPECT_NEAR(residuals[0].ninth, 0, 5e-3);
  EXPECT_NEAR(residuals[0].before_median, 2, 1e-9);
  EXPECT_EQ(residuals[1].rows, 0U);  // nothing to predict it from
}

// As many of thousands of rows are predicted as tell the error, of every size: here half of the small ones take four
// times as long as the others, and three in ten rows are small.
TEST(PlannerCalibration, OfManyRowsSomeOfEverySizeArePredicted) {
  std::vector<Observation> rows;
  for (int i = 0; i < 4000; ++i) {
    const bool small = i % 10 < 3;
    rows.push_back(row("p", "w", "a1", small ? 1 : 1e6, (small ? 1 : 1e6) * (small && i % 2 == 0 ? 4 : 1)));
  }
  const Calibration calibration(rows);
  const Calibration::Residuals found = calibration.residuals().at(0);
  EXPECT_EQ(found.rows, 256U);
  EXPECT_LT(found.median, 0.2);
  EXPECT_GT(found.ninth, 0.4);
  EXPECT_EQ(calibration.correct(question("p", "w", "a1")).error, found.ninth);
}

TEST(PlannerCalibration, Quantiles) {
  EXPECT_EQ(ninth_decile({}), 0);
  EXPECT_EQ(ninth_decile({5}), 5);
  EXPECT_EQ(ninth_decile({10, 9, 8, 7, 6, 5, 4, 3, 2, 1}), 9);
  EXPECT_EQ(median({3, 1, 2}), 2);
}

}  // namespace
}  // namespace znni
