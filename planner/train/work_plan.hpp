// The plan of one layer or gradient alone, whose tensors are its caller's: all planar, wherever they lie. What else it
// declares, scratch and tensors in other formats, is one block of memory, the workspace.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "planner/train/step_ways.hpp"

namespace znni {

using WorkProblem = std::variant<LayerProblem, GradientProblem>;

struct WorkPlan {
  WorkProblem problem;
  DeviceSpec device;                  // a device of fewer threads runs it, too
  std::vector<StepCall> calls;        // with node 0; reorders before and behind what computes
  std::vector<PlacedTensor> tensors;  // first those that the work reads, in its order, then what it writes
  int reads = 0;                      // number of the former
  int writes = -1;                    // tensor; -1: the gradients of kernels and bias, which have no tensor
  MemoryPlan memory;                  // transient: the workspace; persistent: the caller's tensors
  Packing packing;                    // of the former
  Seconds seconds = 0;                // predicted, with preparing
};

// Returns the fastest way to compute the problem in a workspace of up to `mem` bytes. The tables of `parts` must
// outlive the plan. Two gradients at once are refused. Fails if the problem is impossible, if no primitive computes it,
// or with over_budget if the smallest workspace is larger: the error has both numbers.
[[nodiscard]] Result<WorkPlan> plan_work(const WorkProblem& problem, std::int64_t mem, const StepParts& parts);

}  // namespace znni
