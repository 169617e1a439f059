#include "planner/program/report_options.hpp"

#include <gtest/gtest.h>

#include "tests/planner/parsed_options.hpp"

namespace znni {
namespace {

using test::good;
using test::refused;

TEST(PlannerReportOptions, APageHasNoCurvesUnlessAskedFor) {
  const PlannerOptions options = good({"--model", "x", "--report", "r.html"});
  EXPECT_EQ(options.report, "r.html");
  EXPECT_FALSE(options.report_curve);
  EXPECT_TRUE(options.measured.empty());
}

TEST(PlannerReportOptions, CurvesAreOfARangeAndFilesOfRunsMayBeMany) {
  const PlannerOptions options = good({"--model", "x", "--report", "r.html", "--report-curve", "1G..4G", "--measured",
                                       "a.json", "--measured", "b.json"});
  EXPECT_EQ(options.report_curve, (MemoryRange{std::int64_t{1} << 30, std::int64_t{4} << 30}));
  EXPECT_EQ(options.measured, (std::vector<std::string>{"a.json", "b.json"}));
}

TEST(PlannerReportOptions, WrongUseNamesWhatIsWrong) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--model", "x", "--report-curve", "1G..2G"}, "--report-curve is drawn on the page of --report"},
      {{"--model", "x", "--measured", "a"}, "--measured is drawn on the page of --report"},
      {{"--model", "x", "--report", "r", "--report-curve", "2G..1G"}, "--report-curve: range '2G..1G' is empty"},
      {{"--model", "x", "--report", "r", "--report-curve", "1G"}, "--report-curve: range '1G' is not understood"},
      {{"--model", "x", "--report", "r", "--curve", "1G..2G"}, "--curve prints no plan"},
  };
  for (const auto& [arguments, said] : cases) {
    EXPECT_EQ(refused(arguments).find(said), 0U) << refused(arguments);
  }
}

}  // namespace
}  // namespace znni
