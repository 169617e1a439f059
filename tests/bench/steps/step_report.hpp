// Results of a step of training of one layer, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/report_head.hpp"
#include "tests/bench/steps/step_bench.hpp"

namespace znni::bench {

struct StepReport : ReportHead {
  std::int64_t memory = 0;  // bytes: the limit
  std::vector<CallTimes> calls;
};

// Returns a head with the machine's measured rates, then a table of the planned calls and their sum, then one of the
// others, if there are any.
[[nodiscard]] std::string step_text(const StepReport& report);

// Returns one object: what layer_json() has of the layer and the machine; then mem, and of the step predicted_seconds,
// seconds, best_seconds, processor_seconds_per_thread, best_processor_seconds_per_thread, runs (seconds of each),
// processor_runs (likewise, per thread); then calls, and others. Each of these has part, primitive, and, if it ran,
// variant, in, out, tried, the fields of the step, effective_flops_per_second (of the direct algorithm; null of a
// reorder), persistent_bytes, transient_bytes, error; or else refusal.
[[nodiscard]] std::string step_json(const StepReport& report);

}  // namespace znni::bench
