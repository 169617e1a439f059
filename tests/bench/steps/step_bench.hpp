// Runs the parts of a step of training of one convolution (step_choice.hpp), one after the other in one process, so
// that other load on the machine affects all of them alike.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/layers/layer_bench.hpp"
#include "tests/bench/steps/step_choice.hpp"

namespace znni::bench {

// One call, or a primitive in its fastest way.
struct CallTimes {
  int part = 0;             // of step_parts
  bool is_planned = false;  // the step planner chose it
  Seconds predicted = 0;    // with preparing
  PrimitiveTimes times;     // runs, with preparing; of a planned call `tried` is 1
};

// Which primitives run beside what the planner chose, each in its fastest way.
struct Others {
  std::vector<std::string> names;
  bool all = false;
};

// Runs what the planner chooses within `memory` bytes, and the others. Of each primitive of `others` every way runs
// twice, as run_layer() has it. Then all of them run in turn, `repetitions` times. One of the others has a refusal if
// none of its ways fits the device's budget, or, of all primitives, if it is predicted to take over 20 times what the
// planner chose. Fails as plan_layer_step() does, for a wrong result (error above 1e-3), with `cancelled` after a stop,
// and with the device's errors.
[[nodiscard]] Result<std::vector<CallTimes>> run_step(const ConvProblem& problem, const StepParts& parts,
                                                      std::int64_t memory, const Others& others, const LayerWork& work);

// Returns the sum of all planned calls, run by run. Joules are left out.
[[nodiscard]] std::vector<RunTime> step_runs(const std::vector<CallTimes>& all);

// Returns the predicted seconds of all planned calls.
[[nodiscard]] Seconds predicted_step(const std::vector<CallTimes>& all);

}  // namespace znni::bench
