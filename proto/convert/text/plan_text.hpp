// Plans as text (proto/plan.proto). Reading is strict about the form: unknown fields, words and formats are errors.
// check(plan, ...) says if the plan can run.
#pragma once

#include <string>
#include <string_view>

#include "planner/plan/plan.hpp"

namespace znni {

// Reads a plan. The error names the line or the field.
[[nodiscard]] Result<Plan> parse_plan(std::string_view text);
// Returns the text from which parse_plan() makes the same plan; times keep all their digits.
[[nodiscard]] std::string plan_text(const Plan& plan);

// Reads a plan file. The error begins with the path. Fails with not_found if there is no file.
[[nodiscard]] Result<Plan> read_plan(const std::string& path);
// Writes a plan file atomically: the file is either the new plan or the one before.
[[nodiscard]] Result<void> write_plan(const std::string& path, const Plan& plan);

}  // namespace znni
