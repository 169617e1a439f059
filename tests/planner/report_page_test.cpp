#include "planner/report_page.hpp"

#include <gmock/gmock.h>

#include "tests/planner/planned.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string page_of(const test::Planned& planned) {
  const Result<PlanReport> report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec);
  EXPECT_TRUE(report);
  const StrategyCurves curves{"cpu",
                              {{1 << 20, Vec3::cube(10), 100, 1 << 19}, {1 << 21, Vec3::cube(20), 200, 1 << 20}},
                              {{1 << 20, Vec3::cube(10), 100, 1 << 19}, {1 << 20, Vec3::cube(30), 0, 0}}};
  return report_page(planned.network, planned.plan, *report, planned.log, {curves}, "with 1 GiB more, 2 x");
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

TEST(PlannerReportPage, ShowsThePipelineOfSeveralPlaces) {
  const test::Planned planned;
  PlanReport report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec).value();
  EXPECT_THAT(report_page(planned.network, planned.plan, report, planned.log, {}, ""), Not(HasSubstr("The pipeline")));
  report.places = PlacesReport{2, {1 << 20, 1 << 10, 1 << 22}, {}, 0.5, 0.75};
  const std::string page = report_page(planned.network, planned.plan, report, planned.log, {}, "");
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
