// `planner --price`: plans for several machines, compared by their price. A part of the program, as
// planner/program/session.hpp.
#pragma once

#include "planner/program/session.hpp"

namespace znni {

// Prints the list as a table, or as JSON with --json. A machine that no plan fits stays in it, with the reason. Errors:
// of a machine's file, of the volume; fails with over_budget if no machine has a plan.
[[nodiscard]] Result<void> price_command(const Network& network, const PlannerOptions& options);

}  // namespace znni
