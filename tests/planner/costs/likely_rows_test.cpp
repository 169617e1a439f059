#include "planner/costs/likely_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace znni {
namespace {

using Law = std::function<double(std::int64_t edge)>;

double work_of(std::int64_t edge) { return 100 * std::pow(static_cast<double>(edge), 3); }
double smooth_law(std::int64_t edge) { return 1e-5 + 1e-9 * std::pow(work_of(edge), 1.1); }
double step_law(std::int64_t edge) { return smooth_law(edge) * (edge > 60 ? 1.25 : 1); }
// Returns a time that is 10 % less for some sizes, without an order.
double rough_law(std::int64_t edge) {
  return smooth_law(edge) * (1 + 0.1 * std::sin(static_cast<double>(edge * edge) * 1.7));
}

constexpr RowNoise single = {1, 0, 0};
constexpr RowNoise steady = {5, 1e-6, 0};

// Returns a curve of cubes of 16 to 96.
NoisyCurve curve(const Law& law, double deviation, std::mt19937_64& random, const RowNoise& told = single) {
  std::normal_distribution<double> noise(0, 1);
  NoisyCurve rows;
  for (std::int64_t edge = 16; edge <= 96; edge += 4) {
    rows.push_back({work_of(edge), law(edge) * std::exp(deviation * noise(random)), told, std::to_string(edge)});
  }
  return rows;
}

std::vector<NoisyCurve> curves(const Law& law, double deviation, int count, const RowNoise& told = single) {
  std::mt19937_64 random(5);
  std::vector<NoisyCurve> made;
  for (int i = 0; i < count; ++i) made.push_back(curve(law, deviation, random, told));
  return made;
}

std::vector<std::vector<Seconds>> recorded(const std::vector<NoisyCurve>& curves) {
  std::vector<std::vector<Seconds>> seconds;
  for (const NoisyCurve& each : curves) {
    seconds.emplace_back();
    for (const NoisyRow& row : each) seconds.back().push_back(row.seconds);
  }
  return seconds;
}

// Returns the root of the mean square by which times are off a law.
double off(const std::vector<std::vector<Seconds>>& seconds, const Law& law) {
  double squares = 0;
  double count = 0;
  for (const std::vector<Seconds>& own : seconds) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      squares += std::pow(std::log(own[i] / law(16 + 4 * static_cast<std::int64_t>(i))), 2);
      ++count;
    }
  }
  return std::sqrt(squares / count);
}

TEST(PlannerLikelyRows, ASmoothLawIsKept) {
  EXPECT_LT(off(likely_seconds(curves(smooth_law, 0, 3)), smooth_law), 1e-3);
  EXPECT_LT(off(likely_seconds(curves(smooth_law, 0, 3, steady)), smooth_law), 1e-3);
}

TEST(PlannerLikelyRows, NoiseIsTakenOut) {
  const std::vector<NoisyCurve> rows = curves(smooth_law, 0.05, 4);
  EXPECT_GT(off(recorded(rows), smooth_law), 0.04);
  EXPECT_LT(off(likely_seconds(rows), smooth_law), 0.03);
}

TEST(PlannerLikelyRows, SamplesTellOfNoise) {
  const std::vector<NoisyCurve> rows = curves(smooth_law, 0.05, 4, {3, 0.0054, 0});
  EXPECT_LT(off(likely_seconds(rows), smooth_law), 0.03);
}

TEST(PlannerLikelyRows, ALuckyRowIsLikelyToTakeLonger) {
  std::vector<NoisyCurve> rows = curves(smooth_law, 0.05, 4);
  const std::size_t lucky = 10;
  rows[0][lucky].seconds = smooth_law(56) / 1.1;
  const double left = std::log(smooth_law(56) / likely_seconds(rows)[0][lucky]);
  EXPECT_LT(std::abs(left), 0.05) << "of a tenth";
}

TEST(PlannerLikelyRows, AStepStays) {
  for (const RowNoise& told : {single, steady}) {
    const std::vector<NoisyCurve> rows = curves(step_law, 0.01, 3, told);
    const std::vector<std::vector<Seconds>> likely = likely_seconds(rows);
    for (const std::vector<Seconds>& own : likely) {
      const std::size_t before = 11;  // 60
      EXPECT_NEAR(own[before] / step_law(60), 1, 0.03);
      EXPECT_NEAR(own[before + 1] / step_law(64), 1, 0.03);
    }
    EXPECT_LE(off(likely, step_law), off(recorded(rows), step_law));
  }
}

TEST(PlannerLikelyRows, WhatRepeatsIsReal) {
  const std::vector<NoisyCurve> rows = curves(rough_law, 0.01, 1, steady);
  EXPECT_LT(off(likely_seconds(rows), rough_law), 0.015);
  const std::vector<NoisyCurve> once = curves(rough_law, 0.01, 1, single);
  EXPECT_GT(off(likely_seconds(once), rough_law), 0.03) << "once, and in one curve alone, it looks like noise";
}

TEST(PlannerLikelyRows, WhatOtherCurvesHaveAtTheSameExtentsIsReal) {
  std::vector<NoisyCurve> rows = curves(rough_law, 0.01, 5);
  EXPECT_LT(off(likely_seconds(rows), rough_law), 0.03);
  int next = 0;
  for (NoisyCurve& each : rows) {
    for (NoisyRow& row : each) row.extents = std::to_string(++next);
  }
  EXPECT_GT(off(likely_seconds(rows), rough_law), 0.04) << "of other extents in every curve";
}

TEST(PlannerLikelyRows, FewRowsKeepTheirTimes) {
  std::vector<NoisyCurve> rows = curves(smooth_law, 0.05, 1);
  rows[0].resize(9);
  EXPECT_EQ(likely_seconds(rows), recorded(rows));
  EXPECT_TRUE(likely_seconds({}).empty());
}

TEST(PlannerLikelyRows, TheOrderOfRowsIsNoMatter) {
  std::vector<NoisyCurve> rows = curves(smooth_law, 0.05, 2);
  std::vector<std::vector<Seconds>> likely = likely_seconds(rows);
  for (NoisyCurve& each : rows) std::reverse(each.begin(), each.end());
  for (std::vector<Seconds>& each : likely) std::reverse(each.begin(), each.end());
  EXPECT_EQ(likely_seconds(rows), likely);
}

TEST(PlannerLikelyRows, NoiseOfARecordIsThatOfItsSamples) {
  TimingRecord record;
  record.samples = {1, std::exp(0.2)};
  record.waited = 0.3;
  const RowNoise noise = noise_of(record);
  EXPECT_EQ(noise.samples, 2U);
  EXPECT_NEAR(noise.variance, 0.02, 1e-12);
  EXPECT_EQ(noise.waited, 0.3);
  record.samples = {7};
  EXPECT_EQ(noise_of(record).samples, 1U);
  EXPECT_EQ(noise_of(record).variance, 0);
}

}  // namespace
}  // namespace znni
