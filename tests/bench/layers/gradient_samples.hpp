// Exact gradients of a convolution in float64, of tensors that hold layer_samples' input_value() at each place of
// theirs: single elements, however large the layer.
#pragma once

#include "planner/train/step_line.hpp"
#include "tests/bench/layers/layer_samples.hpp"

namespace znni::bench {

// Returns the gradient at one place, by the definition in primitives/core/gradient.hpp. The gradient of the output and
// the saved value hold input_value(). Requires a plain convolution.
[[nodiscard]] double exact_gradient(const GradientProblem& problem, const LayerWeights& weights, const Place& place);

// Returns what a call writes at one place: a convolution, its gradients, or a reorder.
[[nodiscard]] double exact_result(const StepProblem& problem, const LayerWeights& weights, const Place& place);

// Returns the shape that a call writes, likewise.
[[nodiscard]] Shape5 result_shape(const StepProblem& problem);

}  // namespace znni::bench
