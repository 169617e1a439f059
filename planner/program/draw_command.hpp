// `planner draw`: plans to check predictions with, as files. A part of the program, as planner/program/session.hpp.
#pragma once

#include "planner/program/session.hpp"

namespace znni {

// Writes chosen.pbtxt, random-1.pbtxt, ..., neighbour-1.pbtxt, ... into options.output and tells of each on stdout.
// Overwrites files that are there: the same arguments and timings give the same plans.
[[nodiscard]] Result<void> draw_command(Session& session);

}  // namespace znni
