// Plans and timing records with something in every field, for the tests of their text.
#pragma once

#include "planner/costs/timings.hpp"
#include "planner/plan/plan.hpp"

namespace znni::test {

[[nodiscard]] Plan full_plan();
[[nodiscard]] TimingRecord full_record();

}  // namespace znni::test
