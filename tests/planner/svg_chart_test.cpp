#include "planner/svg_chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(PlannerSvgChart, EscapesWhatIsMarkup) {
  EXPECT_EQ(escaped("a < b & \"c\" > 'd'"), "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39;");
}

TEST(PlannerSvgChart, LinesHaveAMarkPerPoint) {
  Chart chart{
      "rate", "memory", "voxels/s", {{"cpu", {{1e9, 10, "first"}, {4e9, 30, "<b>"}}}, {"plain", {{2e9, 5, ""}}}}};
  chart.bytes = true;
  const std::string svg = line_chart(chart);
  EXPECT_EQ(count(svg, "<circle"), 3U);
  EXPECT_EQ(count(svg, "<polyline"), 2U);
  EXPECT_THAT(svg, HasSubstr("<title>first</title>"));
  EXPECT_THAT(svg, HasSubstr("&lt;b&gt;"));
  EXPECT_THAT(svg, HasSubstr(">plain</span>"));
  EXPECT_THAT(svg, HasSubstr("2.00 GiB"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_EQ(count(svg, "<g "), count(svg, "</g>"));
}

TEST(PlannerSvgChart, TheChosenPointIsWithinTheAxesAndNamed) {
  Chart chart{"rate", "memory", "voxels/s", {{"cpu", {{1e9, 10, ""}, {4e9, 30, ""}}}}};
  EXPECT_THAT(line_chart(chart), Not(HasSubstr("chosen")));
  chart.chosen = ChartPoint{4e9, 60, "the plan"};
  const std::string svg = line_chart(chart);
  EXPECT_THAT(svg,
              HasSubstr("<circle class=\"chosen\" cx=\"704.0\" cy=\"12.0\" r=\"9\"><title>the plan</title></circle>"));
  EXPECT_THAT(svg, HasSubstr("chosen plan</span>"));
}

TEST(PlannerSvgChart, EverySecondLabelOfTheAxisBelowMayBeHidden) {
  Chart chart{"rate", "memory", "voxels/s", {{"cpu", {{1 << 20, 10, ""}, {1 << 23, 30, ""}}}}};
  chart.bytes = true;
  const std::string svg = line_chart(chart);
  EXPECT_EQ(count(svg, "<text class=\"odd\""), 2U) << "2 and 8 of 1, 2, 4 and 8 MiB";
  EXPECT_EQ(count(bar_chart("time", {{"a", 1, ""}}), "<figure class=\"scroll\">"), 1U);
}

TEST(PlannerSvgChart, OfOnePointOrNoneIsStillSound) {
  Chart chart{"rate", "edge", "voxels/s", {{"cpu", {{100, 0, ""}}}}};
  EXPECT_THAT(line_chart(chart), Not(HasSubstr("nan")));
  chart.bytes = true;
  EXPECT_THAT(line_chart(chart), Not(HasSubstr("nan")));
  EXPECT_THAT(line_chart(chart), Not(HasSubstr("inf")));
  EXPECT_THAT(line_chart({"rate", "edge", "voxels/s", {}}), HasSubstr("nothing fits"));
}

TEST(PlannerSvgChart, BarsAndSpansKeepTheirShares) {
  const std::string bars = bar_chart("time", {{"conv1", 2, "2 s"}, {"pool1", 1, "1 s"}, {"none", 0, ""}});
  EXPECT_EQ(count(bars, "<rect"), 3U);
  EXPECT_THAT(bars, HasSubstr("width=\"380.0\""));
  EXPECT_THAT(bars, HasSubstr("width=\"190.0\""));
  const std::string line = timeline("pass", {{"a", 1, 100, 0}, {"b", 3, 50, 1}});
  EXPECT_EQ(count(line, "<rect"), 2U);
  EXPECT_THAT(line, HasSubstr("a: 1.00 s"));
  EXPECT_THAT(timeline("pass", {}), Not(HasSubstr("nan")));
}

TEST(PlannerSvgChart, LanesStandOneUnderTheOther) {
  const std::string svg =
      lane_chart("both", {{"CPU", {{"one", 0, 1, 0}, {"two", 2, 1, 1}}}, {"GPU", {{"one", 1, 3, 0}}}});
  EXPECT_THAT(svg, HasSubstr(">CPU<"));
  EXPECT_THAT(svg, HasSubstr(">GPU<"));
  EXPECT_THAT(svg, HasSubstr("two: 1.00 s"));
  EXPECT_THAT(svg, HasSubstr(">4.00 s<"));
  EXPECT_EQ(lane_chart("none", {}).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace znni
