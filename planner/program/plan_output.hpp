// What `planner` prints of a plan, and the page of --report: with further searches where these are asked for. A part of
// the program, as planner/program/session.hpp.
#pragma once

#include "planner/layers/places.hpp"
#include "planner/program/session.hpp"

namespace znni {

// As --explain, --report, --json and --k8s-resources say; else a summary. Tells on stderr where this machine falls
// short of the plan.
[[nodiscard]] Result<void> print_plan(const Network& network, const Plan& plan, const Session& session,
                                      const SearchLog& log);
// The same of a plan over the places of --machine.
[[nodiscard]] Result<void> print_plan(const Network& network, const SplitPlan& plan, const MachinePlaces& places,
                                      const Session& session, const SearchLog& log);

}  // namespace znni
