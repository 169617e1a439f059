// The facts that the page of --report shows.
#pragma once

#include <string>
#include <vector>

#include "planner/report/curves.hpp"
#include "planner/report/report.hpp"
#include "planner/report/run_record.hpp"

namespace znni {

// Tells how the page came to be.
struct PageOrigin {
  std::string date;     // "2026-11-25 11:02 UTC"
  std::string version;  // of the planner
  std::string command;  // that made it
};

// References must outlive it. `report` and `log` are of the plan's search.
struct ReportFacts {
  const Network& network;
  const Plan& plan;
  const PlanReport& report;
  const SearchLog& log;
  const std::vector<RunRecord>& measured;  // of the plan; none: nothing was measured
  std::vector<StrategyCurves> curves;      // none: not asked for
  std::string next_better;                 // "": not asked for
  PageOrigin origin;
};

// Returns the predicted seconds of a node in a whole patch, all of its runs together.
[[nodiscard]] inline Seconds seconds_in_patch(const NodeReport& node) {
  return static_cast<double>(node.runs) * node.step->seconds;
}

}  // namespace znni
