// `planner --report`: one page that needs nothing but itself: the answer, what memory and patch size are worth (figures
// 4, 5 and 7 of ZNNi), time and memory of every layer, the course of a pass, and what was refused.
#pragma once

#include <string>
#include <vector>

#include "planner/curves.hpp"
#include "planner/report.hpp"

namespace znni {

// Tells how the page came to be.
struct PageOrigin {
  std::string date;     // "2026-11-25 11:02 UTC"
  std::string version;  // of the planner
  std::string command;  // that made it
};

// HTML and SVG without scripts, links, fonts or pictures from elsewhere, to be read on screens of 420 pixels, too.
// `log` and `report` are of the plan's search; the plan stands marked among the `curves`.
[[nodiscard]] std::string report_page(const Network& network, const Plan& plan, const PlanReport& report,
                                      const SearchLog& log, const std::vector<StrategyCurves>& curves,
                                      const std::string& next_better, const PageOrigin& origin);

}  // namespace znni
