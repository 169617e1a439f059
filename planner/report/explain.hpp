// Why a plan is what it is, for people: `planner --explain`.
#pragma once

#include <string>

#include "planner/report/report.hpp"
#include "planner/search/search.hpp"

namespace znni {

// Returns a text of network, memory and geometry; for every node the choice, its runner-up and the primitives that
// refused; the next best geometries and those that memory ruled out. `log` is the one of the search that made the plan;
// `report` of the same plan.
[[nodiscard]] std::string explain(const Network& network, const Plan& plan, const PlanReport& report,
                                  const SearchLog& log);

}  // namespace znni
