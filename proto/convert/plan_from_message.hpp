// A plan out of its message, with the checks that the text form alone cannot make.
#pragma once

#include "planner/plan/plan.hpp"
#include "proto/plan.pb.h"

namespace znni {

// Errors name the rung and node: formats that are not known, extents without three values, sizes below 0,
// no rung at all, no nodes in the key.
[[nodiscard]] Result<Plan> plan_from_message(const text::Plan& written);

}  // namespace znni
