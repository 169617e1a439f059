// Makes a plan from its message, with the checks that the text form alone cannot make.
#pragma once

#include "planner/plan/plan.hpp"
#include "proto/plan.pb.h"

namespace znni {

// Fails for unknown formats, extents without three values, sizes below 0, a plan without rungs, and a key without
// nodes. Errors name the rung and node.
[[nodiscard]] Result<Plan> plan_from_message(const text::Plan& written);

}  // namespace znni
