// Tolerances of gradients against the oracle, computed from the problem and the data.
#pragma once

#include <span>

#include "tests/oracle/oracle.hpp"

namespace znni::oracle {

// The largest allowed absolute differences of any element.
struct GradientTolerance {
  double inputs = 0.0;
  double kernels = 0.0;
  double bias = 0.0;
  double scale = 0.0;
};
// Returns the tolerance of gradients in float32, from the problem and the data, as tolerance() has it for outputs. The
// sums of a convolution's input grow with the largest gradient times the largest sum of a channel's kernels. Those of
// kernels and bias grow with the norms of the two channels they multiply, because roundings go either way.
[[nodiscard]] GradientTolerance gradient_tolerance(const LayerProblem& problem, std::span<const Values> inputs,
                                                   const LayerWeights& weights, const Values& output);

}  // namespace znni::oracle
