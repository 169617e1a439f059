// `planner --curve`: the best rates over a range of memory limits. A part of the program, as
// planner/program/session.hpp.
#pragma once

#include "planner/program/session.hpp"

namespace znni {

// Prints the rates as a table, or as JSON with --json. Fails with over_budget if nothing fits into any of the limits.
[[nodiscard]] Result<void> curve_command(const Network& network, const Session& session);

}  // namespace znni
