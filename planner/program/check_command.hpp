// `planner check`: whether a network runs here. A part of the program, as planner/program/session.hpp.
#pragma once

#include "planner/program/options.hpp"

namespace znni {

// Prints the answer for the file, as lines or with --json as JSON, and returns whether the network runs. Fails where
// the file holds no network that could be judged, as planning does.
[[nodiscard]] Result<bool> check_command(const PlannerOptions& options);

}  // namespace znni
