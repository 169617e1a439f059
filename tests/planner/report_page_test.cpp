#include "planner/report_page.hpp"

#include <gmock/gmock.h>

#include "planner/text_table.hpp"
#include "tests/planner/planned.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::Not;

const PageOrigin origin{"2026-11-25 11:02 UTC", "1.2.3", "planner --model '<a> b.onnx' --report page.html"};

std::string page_of(const test::Planned& planned) {
  const Result<PlanReport> report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec);
  EXPECT_TRUE(report);
  const StrategyCurves curves{"cpu",
                              {{1 << 20, Vec3::cube(10), 100, 1 << 19}, {1 << 21, Vec3::cube(20), 200, 1 << 20}},
                              {{1 << 20, Vec3::cube(10), 100, 1 << 19}, {1 << 20, Vec3::cube(30), 0, 0}}};
  return report_page(planned.network, planned.plan, *report, planned.log, {curves}, "with 1 GiB more, 2 x", origin);
}

TEST(PlannerReportPage, TellsAllThatIsAskedOfIt) {
  const test::Planned planned;
  const std::string page = page_of(planned);
  for (const char* part :
       {"<!DOCTYPE html>", "Throughput against memory", "Throughput against input size",
        "Time and memory of every layer", "The course of a pass", "What was refused", "<dt>Precision</dt><dd>fp32</dd>",
        "with 1 GiB more, 2 x", "needs more memory than there is", "</html>"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  for (const Node& node : planned.network.nodes) EXPECT_THAT(page, HasSubstr(node.name));
}

TEST(PlannerReportPage, TellsWhenAndHowItWasMade) {
  const std::string page = page_of(test::Planned());
  EXPECT_THAT(page, HasSubstr("<dt>Made</dt><dd>2026-11-25 11:02 UTC by planner 1.2.3</dd>"));
  EXPECT_THAT(page, HasSubstr("<code>planner --model &#39;&lt;a&gt; b.onnx&#39; --report page.html</code>"));
}

TEST(PlannerReportPage, MarksTheChosenPlanAmongTheCurvesByMemory) {
  const test::Planned planned;
  const std::string page = page_of(planned);
  const std::size_t mark = page.find("<circle class=\"chosen\"");
  ASSERT_NE(mark, std::string::npos);
  EXPECT_EQ(page.find("<circle class=\"chosen\"", mark + 1), std::string::npos);
  EXPECT_LT(mark, page.find("Throughput against input size"));
  EXPECT_THAT(page.substr(mark),
              HasSubstr("<title>chosen plan: " + rate_text(planned.plan.predicted.voxels_per_second)));
}

// Looks for the rules by which text of the axes grows where the page is narrow, every second label goes, and other
// figures scroll.
TEST(PlannerReportPage, IsReadableOnNarrowScreens) {
  const std::string page = page_of(test::Planned());
  EXPECT_THAT(page, HasSubstr("name=\"viewport\" content=\"width=device-width, initial-scale=1\""));
  EXPECT_THAT(page,
              HasSubstr("@media (max-width: 30rem) { .plot text { font-size: 19px; } .plot .odd { display: none; }"));
  EXPECT_THAT(page, HasSubstr("<text class=\"odd\""));
  EXPECT_THAT(page, HasSubstr(".scroll svg { min-width: 40rem; }"));
}

TEST(PlannerReportPage, ShowsThePipelineOfSeveralPlaces) {
  const test::Planned planned;
  PlanReport report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec).value();
  EXPECT_THAT(report_page(planned.network, planned.plan, report, planned.log, {}, "", origin),
              Not(HasSubstr("The pipeline")));
  report.places = PlacesReport{2, {1 << 20, 1 << 10, 1 << 22}, {}, 0.5, 0.75};
  const std::string page = report_page(planned.network, planned.plan, report, planned.log, {}, "", origin);
  for (const char* part : {"The pipeline, three patches", "patch 3: 750.00 ms", "theta 2", "device 4.00 MiB"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
}

TEST(PlannerReportPage, NeedsNothingFromElsewhere) {
  const std::string page = page_of(test::Planned());
  for (const char* part : {"http", "<script", "<link", "<img", "@import", "url(", "src="}) {
    EXPECT_THAT(page, Not(HasSubstr(part)));
  }
}

TEST(PlannerReportPage, NamesAreTextNotMarkup) {
  Network network = drawn::chain();
  network.name = "<b>&\"";
  network.nodes[0].name = "<script>";
  const std::string page = page_of(test::Planned(network));
  EXPECT_THAT(page, HasSubstr("Plan of &lt;b&gt;&amp;&quot;"));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
}

}  // namespace
}  // namespace znni
