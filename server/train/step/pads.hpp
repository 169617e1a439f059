// Padding of values in a step of training, and its gradient (PadProblem).
#pragma once

#include "planner/train/step_graph.hpp"
#include "primitives/core/executor.hpp"
#include "primitives/core/tensor.hpp"

namespace znni {

// Returns the voxels of a padded tensor without the padding.
[[nodiscard]] TensorView inside_of(const TensorView& padded, const Border& around);

// Writes `to`, all of it: what `from` has, and the padding around that. The views have one format of float32. What
// would reflect a voxel that `from` does not have is zero.
void write_padded(const PadProblem& pad, const TensorView& from, const TensorView& to, Executor& executor);

// Writes `to`, the gradient of a value, given that of the value with its padding. Where padding copies voxels, those at
// the border or those beside it, these have the sum of all their copies, in a fixed order; else padding adds nothing.
void write_pad_gradient(const PadProblem& pad, const TensorView& from, const TensorView& to, Executor& executor);

}  // namespace znni
