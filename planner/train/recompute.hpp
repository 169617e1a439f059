// Values of the forward run that are computed a second time in the backward run, instead of being kept for it (Chen et
// al. 2016, "Training deep nets with sublinear memory cost"). It takes time, and leaves memory.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "planner/train/step_graph.hpp"
#include "primitives/core/primitive.hpp"

namespace znni {

// Returns the tensors that may be computed again, rising: a forward work writes each, a backward one reads it, and it
// is not the output that the loss reads.
[[nodiscard]] std::vector<int> recomputable(const StepGraph& graph);

// Returns the graph in which backward works read these tensors as they were computed again. Each is computed right
// before the first work that reads it, once, from values that are kept or computed again themselves.
[[nodiscard]] StepGraph with_recomputed(const StepGraph& graph, const std::set<int>& tensors);

// Returns sets of tensors that are worth computing again, beside none: all sets of up to 4 tensors; of more tensors
// those in which each takes one to the set before it, at most 12 of them. It is the tensor that lowers the bytes alive
// at once most for a second of computing, as if all were planar. `seconds`: of each work of the graph.
[[nodiscard]] std::vector<std::set<int>> sets_to_recompute(const StepGraph& graph, std::span<const Seconds> seconds);

}  // namespace znni
