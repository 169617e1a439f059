// The values that the page of --report draws.
#pragma once

#include <vector>

#include "planner/report/chart.hpp"
#include "planner/report/report_facts.hpp"

namespace znni {

// Draws the fastest patches that were looked at, the chosen one in a ring, by memory and by size.
[[nodiscard]] std::vector<Chart> patch_charts(const ReportFacts& facts);

// Draws what was measured beside what is predicted; none where nothing was measured.
[[nodiscard]] std::vector<Chart> measured_charts(const ReportFacts& facts);

// Draws the best rates by memory, the chosen plan in a ring, and by the size of cubic patches; none without curves.
[[nodiscard]] std::vector<Chart> curve_charts(const ReportFacts& facts);

// Draws seconds, measured ones beside them, and bytes of every layer.
[[nodiscard]] std::vector<Chart> layer_charts(const ReportFacts& facts);

// Draws the course of a pass and, of a plan over several places, its pipeline.
[[nodiscard]] std::vector<Chart> pass_charts(const ReportFacts& facts);

// Returns what is predicted of a measured run: what was told of that very run, else the plan's rate.
[[nodiscard]] double predicted_rate(const RunRecord& run, const Plan& plan);

}  // namespace znni
