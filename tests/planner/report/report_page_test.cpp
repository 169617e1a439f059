#include "planner/report/report_page.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "planner/report/chart_json.hpp"
#include "planner/report/page_parts.hpp"
#include "planner/report/report_charts.hpp"
#include "tests/planner/report/report_facts.hpp"

namespace znni {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Returns what the page's script reads.
Json charts_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"charts\">";
  const std::size_t at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

// Returns all but the plotting library, whose text names its own home.
std::string without_library(std::string page) {
  const std::size_t at = page.find(plot_library);
  return at == std::string::npos ? page : page.erase(at, plot_library.size());
}

TEST(PlannerReportPage, TellsAllThatIsAskedOfIt) {
  const test::Reported reported;
  const std::string page = report_page(reported.whole());
  for (const char* part :
       {"<!DOCTYPE html>", "Throughput against memory", "Throughput against input size", "Measured beside predicted",
        "Patches looked at, by memory", "Time and memory of every layer", "The course of a pass", "What was refused",
        "<dt>Precision</dt><dd>fp32</dd>", "with 1 GiB more, 2 x", "needs more memory than there is", "</html>"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  for (const Node& node : reported.planned.network.nodes) EXPECT_THAT(page, HasSubstr(node.name));
}

TEST(PlannerReportPage, TellsNothingThatWasNotAskedFor) {
  const test::Reported reported;
  const std::string page = report_page(reported.plain());
  for (const char* part :
       {"Throughput against", "Measured beside predicted", "The next better thing", "The pipeline"}) {
    EXPECT_THAT(page, Not(HasSubstr(part)));
  }
}

TEST(PlannerReportPage, TellsWhenAndHowItWasMade) {
  const std::string page = report_page(test::Reported().plain());
  EXPECT_THAT(page, HasSubstr("<dt>Made</dt><dd>2026-11-25 11:02 UTC by planner 1.2.3</dd>"));
  EXPECT_THAT(page, HasSubstr("<code>planner --model &#39;&lt;a&gt; b.onnx&#39; --report page.html</code>"));
}

TEST(PlannerReportPage, HoldsTheChartsAndACanvasForEach) {
  const test::Reported reported;
  const ReportFacts facts = reported.whole();
  const std::string page = report_page(facts);
  Json expected = Json::array();
  for (const auto charts : {measured_charts, patch_charts, curve_charts, layer_charts, pass_charts}) {
    for (const Json& chart : Json::parse(charts_json(charts(facts)))) expected.push_back(chart);
  }
  EXPECT_EQ(charts_of(page), expected);
  EXPECT_EQ(count(page, "<canvas "), expected.size());
  for (const Json& chart : expected) {
    EXPECT_EQ(count(page, "<canvas id=\"" + chart["id"].get<std::string>() + "\" "), 1U);
  }
}

TEST(PlannerReportPage, HoldsLibraryScriptStyleAndLicence) {
  const std::string page = report_page(test::Reported().plain());
  EXPECT_THAT(std::string(plot_library.substr(0, 200)), HasSubstr("Chart.js v"));
  EXPECT_GT(plot_library.size(), 100000U);
  EXPECT_EQ(count(page, plot_library), 1U);
  EXPECT_EQ(count(page, page_script), 1U);
  EXPECT_EQ(count(page, page_style), 1U);
  EXPECT_EQ(count(page, plot_licence), 1U);
  EXPECT_LT(page.size(), 300000U);
}

// The library draws before the page's own script needs it, and after its canvases and data are there.
TEST(PlannerReportPage, ScriptsFollowWhatTheyNeed) {
  const std::string page = report_page(test::Reported().plain());
  EXPECT_LT(page.rfind("<canvas "), page.find("id=\"charts\""));
  EXPECT_LT(page.find("id=\"charts\""), page.find(plot_library));
  EXPECT_LT(page.find(plot_library), page.find(page_script));
}

TEST(PlannerReportPage, MeasuredLayersHaveARatio) {
  const test::Reported reported;
  const std::string page = report_page(reported.whole());
  EXPECT_THAT(page, HasSubstr("<td>znni infer, 4x5x6 voxels out</td><td>40</td><td>30</td><td>0.750</td>"));
  EXPECT_THAT(page, HasSubstr("<td>znni-bench net</td>"));
  EXPECT_GE(count(page, "<td>2.000</td>"), 1U) << "a layer that took twice as long as predicted";
  EXPECT_THAT(report_page(reported.plain()), Not(HasSubstr("measured / predicted")));
}

TEST(PlannerReportPage, ShowsThePipelineOfSeveralPlaces) {
  test::Reported reported;
  reported.report.places = PlacesReport{2, {1 << 20, 1 << 10, 1 << 22}, {}, 0.5, 0.75};
  const std::string page = report_page(reported.plain());
  for (const char* part : {"The pipeline, three patches", "patch 3", "theta 2", "device 4.00 MiB"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
}

TEST(PlannerReportPage, NeedsNothingFromElsewhere) {
  const std::string page = report_page(test::Reported().whole());
  EXPECT_THAT(page, HasSubstr("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "));
  const std::string own = without_library(page);
  ASSERT_LT(own.size(), page.size());
  for (const char* part : {"http:", "https:", "<link", "<img", "@import", "url(", "src=", "fetch(", "import("}) {
    EXPECT_THAT(own, Not(HasSubstr(part)));
  }
}

TEST(PlannerReportPage, NamesAreTextNotMarkup) {
  Network network = drawn::chain();
  network.name = "<b>&\"";
  network.nodes[0].name = "</script><script>alert(1)</script>";
  const test::Reported reported(network);
  const std::string page = report_page(reported.plain());
  EXPECT_THAT(page, HasSubstr("Plan of &lt;b&gt;&amp;&quot;"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(count(page, "</script>"), 3U);
  const Json labels = charts_of(page)[2]["bars"]["labels"];
  EXPECT_NE(std::find(labels.begin(), labels.end(), network.nodes[0].name), labels.end());
}

// Charts are as wide as the page and keep their height; their text has the screen's pixels, whatever its width.
TEST(PlannerReportPage, IsReadableOnNarrowScreens) {
  const std::string page = report_page(test::Reported().plain());
  EXPECT_THAT(page, HasSubstr("name=\"viewport\" content=\"width=device-width, initial-scale=1\""));
  EXPECT_THAT(page, HasSubstr(".plot { position: relative; height: 20rem; }"));
  EXPECT_THAT(page, HasSubstr("maintainAspectRatio: false"));
  EXPECT_THAT(page, HasSubstr("short(labels[index], this.chart.width)"));
}

}  // namespace
}  // namespace znni
