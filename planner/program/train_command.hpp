// `planner --train`: the plan of one step of training. A part of the program, as planner/program/session.hpp.
#pragma once

#include "planner/program/session.hpp"

namespace znni {

// Prints the predicted time and memory of a step; with --explain a line for each call before. Errors: those of
// plan_step().
[[nodiscard]] Result<void> train_command(const Network& network, const Session& session);

}  // namespace znni
