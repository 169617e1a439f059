// Plans as text (proto/plan.proto). Reading is strict about the form: unknown fields, words and formats are
// errors. Whether the plan can run is check(plan, ...)'s to say.
#pragma once

#include <string>
#include <string_view>

#include "planner/plan/plan.hpp"

namespace znni {

// The error names the line or the field.
[[nodiscard]] Result<Plan> parse_plan(std::string_view text);
// parse_plan() of it gives the same plan; times keep all their digits.
[[nodiscard]] std::string plan_text(const Plan& plan);

// The error begins with the path; not_found when there is none.
[[nodiscard]] Result<Plan> read_plan(const std::string& path);
// Atomic: a plan file is whole or the one before.
[[nodiscard]] Result<void> write_plan(const std::string& path, const Plan& plan);

}  // namespace znni
