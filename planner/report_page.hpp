// `planner --report`: one page that needs nothing but itself: the answer, what memory and patch size are worth (figures
// 4, 5 and 7 of ZNNi), time and memory of every layer, the course of a pass, and what was refused.
#pragma once

#include <string>
#include <vector>

#include "planner/curves.hpp"
#include "planner/report.hpp"

namespace znni {

// HTML and SVG without scripts, links, fonts or pictures from elsewhere. `log` and `report` are of the plan's search.
[[nodiscard]] std::string report_page(const Network& network, const Plan& plan, const PlanReport& report,
                                      const SearchLog& log, const std::vector<StrategyCurves>& curves,
                                      const std::string& next_better);

}  // namespace znni
