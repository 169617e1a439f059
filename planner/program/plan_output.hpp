// Prints plans for `planner`, and writes the page of --report: with further searches if these are asked for. A part of
// the program, like planner/program/session.hpp.
#pragma once

#include "planner/layers/places.hpp"
#include "planner/program/session.hpp"

namespace znni {

// Prints the plan as --explain, --report, --json and --k8s-resources say; else a summary. Warns on stderr if this
// machine falls short of the plan.
[[nodiscard]] Result<void> print_plan(const Network& network, const Plan& plan, const Session& session,
                                      const SearchLog& log);
// Prints a plan over the places of --machine in the same way. `searches`: those that found it.
[[nodiscard]] Result<void> print_plan(const Network& network, const SplitPlan& plan, const MachinePlaces& places,
                                      PlaceSearches& searches, const Session& session, const SearchLog& log);

}  // namespace znni
