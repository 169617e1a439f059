// The oracle's normalisations and attention, in float64.
#pragma once

#include <utility>

#include "tests/oracle/oracle.hpp"

namespace znni::oracle {

// Returns the mean and the standard deviation, epsilon counted, of `count` values.
[[nodiscard]] std::pair<double, double> moments(const double* values, std::int64_t count, double epsilon);

// Returns what the problem makes of its input, before the activation.
[[nodiscard]] Values normalised(const NormProblem& problem, const Values& in, const LayerWeights& weights);

// Returns what attention makes of queries, keys and values.
[[nodiscard]] Values attended(const AttentionProblem& problem, std::span<const Values> inputs);

}  // namespace znni::oracle
