#include "planner/program/report_options.hpp"

#include <CLI/CLI.hpp>

#include "planner/base/sizes.hpp"

namespace znni {

void add_report_flags(CLI::App& app, RawReport& raw) {
  app.add_option("--report", raw.page, "page about the plan: FILE.html");
  app.add_option(
      "--report-curve", raw.curve,
      "also on the page, the best predicted rates in a range of memory limits, and by patch size, which takes more "
      "searches: --report-curve 1G..16G");
  app.add_option("--measured", raw.measured,
                 "measurements of the plan, drawn beside it: a file of 'znni-bench net --json' or 'znni infer "
                 "--json'; once for each")
      ->take_all()
      ->allow_extra_args(false);
}

Result<void> read_report(const RawReport& raw, PlannerOptions& options) {
  options.report = raw.page;
  options.measured = raw.measured;
  const bool wants_page = !raw.curve.empty() || !raw.measured.empty();
  if (wants_page && raw.page.empty()) {
    const std::string flag = raw.curve.empty() ? "--measured" : "--report-curve";
    return Error{ErrorCode::invalid_argument, flag + " is drawn on the page of --report: give --report FILE.html"};
  }
  if (raw.curve.empty()) return {};
  const Result<MemoryRange> range = parse_byte_range(raw.curve);
  if (!range) return range.error().within("--report-curve");
  options.report_curve = *range;
  return {};
}

}  // namespace znni
