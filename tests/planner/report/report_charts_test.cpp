#include "planner/report/report_charts.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "planner/base/text_table.hpp"
#include "tests/planner/report/report_facts.hpp"

namespace znni {
namespace {

const PointChart& points_of(const Chart& chart) { return std::get<PointChart>(chart); }
const BarChart& bars_of(const Chart& chart) { return std::get<BarChart>(chart); }

class PlannerReportCharts : public testing::Test {
 protected:
  test::Reported reported_;
  const Plan& plan_ = reported_.planned.plan;
};

TEST_F(PlannerReportCharts, PatchesStandByMemoryAndSizeFastestFirst) {
  const std::vector<Chart> charts = patch_charts(reported_.plain());
  ASSERT_EQ(charts.size(), 2U);
  std::size_t able = 0;
  for (const Candidate& candidate : reported_.planned.log.candidates) able += candidate.refused.empty() ? 1 : 0;
  ASSERT_GT(able, 1U);
  for (const Chart& chart : charts) {
    const ChartSeries& dots = points_of(chart).series[0];
    EXPECT_EQ(dots.mark, ChartMark::dots);
    EXPECT_EQ(dots.points.size(), std::min<std::size_t>(150, able));
    EXPECT_EQ(dots.points[0].y, plan_.predicted.voxels_per_second);
    for (const ChartPoint& point : dots.points) {
      EXPECT_GT(point.x, 0);
      EXPECT_LE(point.y, dots.points[0].y);
    }
  }
  EXPECT_TRUE(points_of(charts[0]).x.logarithmic);
  EXPECT_EQ(points_of(charts[0]).x.unit, ChartUnit::bytes);
}

TEST_F(PlannerReportCharts, TheChosenPatchStandsInARingAroundItsOwnDot) {
  for (const Chart& chart : patch_charts(reported_.plain())) {
    const std::vector<ChartSeries>& series = points_of(chart).series;
    ASSERT_EQ(series.size(), 2U);
    EXPECT_EQ(series[1].mark, ChartMark::ring);
    ASSERT_EQ(series[1].points.size(), 1U);
    EXPECT_EQ(series[1].points[0].text.find(rate_text(plan_.predicted.voxels_per_second)), 0U);
    const ChartPoint ring = series[1].points[0];
    EXPECT_TRUE(std::any_of(series[0].points.begin(), series[0].points.end(),
                            [&](const ChartPoint& dot) { return dot.x == ring.x && dot.y == ring.y; }));
  }
}

TEST_F(PlannerReportCharts, OfManyPatchesTheFastestAreDrawn) {
  test::Planned& planned = reported_.planned;
  Candidate slow{plan_.ladder.front().geometry, 1e-3, {}, ""};
  planned.log.candidates.assign(500, slow);
  planned.log.candidates.back().voxels_per_second = 5;
  const std::vector<ChartPoint> dots = points_of(patch_charts(reported_.plain())[0]).series[0].points;
  ASSERT_EQ(dots.size(), 150U);
  EXPECT_EQ(dots[0].y, 5);
}

TEST_F(PlannerReportCharts, CurvesAreLeftOutUntilAskedFor) {
  EXPECT_TRUE(curve_charts(reported_.plain()).empty());
  const std::vector<Chart> charts = curve_charts(reported_.whole());
  ASSERT_EQ(charts.size(), 2U);
  const PointChart& memory = points_of(charts[0]);
  ASSERT_EQ(memory.series.size(), 2U);
  EXPECT_EQ(memory.series[0].name, "cpu");
  ASSERT_EQ(memory.series[0].points.size(), 2U) << "nothing fits into the first limit";
  EXPECT_EQ(memory.series[0].points[1].x, 1 << 21);
  EXPECT_EQ(memory.series[0].points[1].y, 200);
  EXPECT_EQ(memory.series[0].points[1].text, "200 voxels/s, patch 20x20x20, 1.00 MiB");
  EXPECT_EQ(memory.series[1].mark, ChartMark::ring);
  EXPECT_EQ(memory.series[1].points[0].x, static_cast<double>(plan_.key.memory_limit));
  const ChartSeries& size = points_of(charts[1]).series[0];
  ASSERT_EQ(size.points.size(), 1U);
  EXPECT_NEAR(size.points[0].x, 10, 1e-9);
}

TEST_F(PlannerReportCharts, MeasuredRatesStandBesideWhatIsPredictedOfThem) {
  EXPECT_TRUE(measured_charts(reported_.plain()).empty());
  const std::vector<Chart> charts = measured_charts(reported_.whole());
  ASSERT_EQ(charts.size(), 1U);
  const BarChart& chart = bars_of(charts[0]);
  EXPECT_EQ(chart.labels, (std::vector<std::string>{"znni-bench net", "znni infer, 4x5x6 voxels out"}));
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_EQ(chart.series[0].bars[0]->to, plan_.predicted.voxels_per_second);
  EXPECT_EQ(chart.series[1].bars[0]->to, plan_.predicted.voxels_per_second / 2);
  EXPECT_EQ(chart.series[0].bars[1]->to, 40) << "what was told of that very run";
  EXPECT_EQ(chart.series[1].bars[1]->to, 30);
}

TEST_F(PlannerReportCharts, EveryLayerHasItsSecondsAndBytes) {
  const std::vector<Chart> charts = layer_charts(reported_.plain());
  ASSERT_EQ(charts.size(), 2U);
  const BarChart& times = bars_of(charts[0]);
  const BarChart& bytes = bars_of(charts[1]);
  ASSERT_EQ(times.series.size(), 1U);
  ASSERT_EQ(times.labels.size(), reported_.report.nodes.size());
  for (std::size_t i = 0; i < times.labels.size(); ++i) {
    const NodeReport& node = reported_.report.nodes[i];
    EXPECT_EQ(times.labels[i], node.name);
    EXPECT_EQ(times.series[0].bars[i]->to, static_cast<double>(node.runs) * node.step->seconds);
    EXPECT_EQ(bytes.series[0].bars[i]->to, static_cast<double>(node.peak));
  }
}

TEST_F(PlannerReportCharts, MeasuredLayersStandBesideTheOthers) {
  reported_.measured[0].nodes[0].primitive = "another";
  const Chart chart = layer_charts(reported_.whole())[0];
  const BarChart& times = bars_of(chart);
  ASSERT_EQ(times.series.size(), 2U);
  EXPECT_FALSE(times.series[1].bars[0]) << "not the plan's primitive";
  for (std::size_t i = 1; i < times.labels.size(); ++i) {
    EXPECT_EQ(times.series[1].bars[i]->to, 2 * times.series[0].bars[i]->to);
  }
}

TEST_F(PlannerReportCharts, LayersOfAPassFollowEachOther) {
  const std::vector<Chart> charts = pass_charts(reported_.plain());
  ASSERT_EQ(charts.size(), 1U);
  double end = 0;
  for (const ChartSeries& area : points_of(charts[0]).series) {
    EXPECT_EQ(area.mark, ChartMark::area);
    ASSERT_EQ(area.points.size(), 3U);
    EXPECT_EQ(area.points.front().x, end);
    EXPECT_GE(area.points.back().x, area.points.front().x);
    end = area.points.back().x;
  }
  EXPECT_GT(end, 0);
}

TEST_F(PlannerReportCharts, ThePipelineOverlapsHeadsWithTails) {
  reported_.report.places = PlacesReport{2, {}, {}, 0.5, 0.75};
  const std::vector<Chart> charts = pass_charts(reported_.plain());
  ASSERT_EQ(charts.size(), 2U);
  const BarChart& pipeline = bars_of(charts[0]);
  EXPECT_TRUE(pipeline.shares_rows);
  EXPECT_EQ(pipeline.labels, (std::vector<std::string>{"CPU", "GPU"}));
  ASSERT_EQ(pipeline.series.size(), 3U);
  EXPECT_EQ(pipeline.series[0].bars[1]->from, 0.5);
  EXPECT_EQ(pipeline.series[1].bars[0]->from, 0.5);
  EXPECT_EQ(pipeline.series[1].bars[1]->from, 1.25);
  EXPECT_EQ(pipeline.series[2].bars[0]->from, 1.25);
  EXPECT_EQ(pipeline.series[2].bars[1]->to, 2.75);
  EXPECT_EQ(pipeline.series[2].bars[1]->text, "750.00 ms");
}

TEST_F(PlannerReportCharts, WithoutAHeadTheProcessorHasNoPartInThePipeline) {
  reported_.report.places = PlacesReport{0, {}, {}, 0, 0.75};
  const Chart chart = pass_charts(reported_.plain())[0];
  for (const BarSeries& patch : bars_of(chart).series) EXPECT_FALSE(patch.bars[0]);
}

}  // namespace
}  // namespace znni
