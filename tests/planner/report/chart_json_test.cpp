#include "planner/report/chart_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace znni {
namespace {

using Json = nlohmann::json;

TEST(PlannerChartJson, PointsAreOfSeriesOverTwoAxes) {
  const PointChart chart{"memory",
                         "Rate",
                         {"bytes", ChartUnit::bytes, true},
                         {"voxels/s"},
                         {{"cpu", ChartMark::dots, {{1024, 2.5, "first"}}}, {"plan", ChartMark::ring, {}}}};
  const Json x = {{"title", "bytes"}, {"unit", "bytes"}, {"logarithmic", true}};
  const Json y = {{"title", "voxels/s"}, {"unit", "number"}, {"logarithmic", false}};
  const Json point = {{"x", 1024}, {"y", 2.5}, {"text", "first"}};
  const Json series = {{{"name", "cpu"}, {"mark", "dots"}, {"points", {point}}},
                       {{"name", "plan"}, {"mark", "ring"}, {"points", Json::array()}}};
  const Json whole = {{"id", "memory"}, {"title", "Rate"}, {"points", {{"x", x}, {"y", y}, {"series", series}}}};
  EXPECT_EQ(Json::parse(charts_json({chart})), Json::array({whole}));
}

TEST(PlannerChartJson, BarsLieBetweenTwoValuesAndMayBeMissing) {
  const BarChart chart{"layers", "Time", {"s", ChartUnit::seconds}, {"a", "b"}, {{"run", {{{1, 3, "2 s"}}, {}}}}, true};
  const Json bars = Json::parse(charts_json({chart}))[0]["bars"];
  EXPECT_EQ(bars["axis"]["unit"], "seconds");
  EXPECT_EQ(bars["labels"], (Json{"a", "b"}));
  EXPECT_EQ(bars["shares_rows"], true);
  EXPECT_EQ(bars["series"][0]["name"], "run");
  EXPECT_EQ(bars["series"][0]["bars"], (Json{{{"from", 1.0}, {"to", 3.0}, {"text", "2 s"}}, nullptr}));
}

TEST(PlannerChartJson, NoTextEndsAScriptElement) {
  const std::string name = "</script><!--\"\\";
  const std::string text = charts_json({BarChart{"a", name, {}, {name}, {}, false}});
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(Json::parse(text)[0]["title"], name);
  EXPECT_EQ(Json::parse(text)[0]["bars"]["labels"][0], name);
}

TEST(PlannerChartJson, MarksAndUnitsHaveNames) {
  const std::vector<std::pair<ChartMark, std::string>> marks = {
      {ChartMark::dots, "dots"}, {ChartMark::line, "line"}, {ChartMark::area, "area"}, {ChartMark::ring, "ring"}};
  for (const auto& [mark, name] : marks) {
    const Json chart = Json::parse(charts_json({PointChart{"a", "b", {}, {}, {{"c", mark, {}}}}}))[0];
    EXPECT_EQ(chart["points"]["series"][0]["mark"], name);
  }
}

}  // namespace
}  // namespace znni
