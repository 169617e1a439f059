// The oracle: every layer problem evaluated in float64 by the definition in primitives/core/problem.hpp,
// loop by loop, with nothing clever. Whatever disagrees with it is wrong. Layers chain: outputs are inputs.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/problem.hpp"

namespace znni::oracle {

// A dense planar tensor [S][f][z][y][x] in float64.
using Values = std::vector<double>;

// Output of `problem` for its inputs in order. Formats are ignored: a reorder is the identity.
[[nodiscard]] Values oracle_run(const LayerProblem& problem, std::span<const Values> inputs,
                                const LayerWeights& weights);

// The activation of problem.hpp in float64.
[[nodiscard]] double apply_exactly(Activation activation, double x);

// float32 to float64.
[[nodiscard]] Values widened(std::span<const float> values);

}  // namespace znni::oracle
