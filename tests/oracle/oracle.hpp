// The oracle: evaluates every layer problem in float64 by the definition in primitives/core/problems, with plain
// loops. A result that disagrees with it is wrong. Layers can be chained: outputs serve as inputs.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/problem.hpp"

namespace znni::oracle {

// A dense planar tensor [S][f][z][y][x] in float64.
using Values = std::vector<double>;

// Returns the output of `problem` for its inputs in order. Formats are ignored: a reorder is the identity.
[[nodiscard]] Values oracle_run(const LayerProblem& problem, std::span<const Values> inputs,
                                const LayerWeights& weights);

// Returns the activation of primitives/core/activation.hpp in float64.
[[nodiscard]] double apply_exactly(Activation activation, double x);

// Converts float32 to float64.
[[nodiscard]] Values widened(std::span<const float> values);

}  // namespace znni::oracle
