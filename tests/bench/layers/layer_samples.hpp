// Checks a timed primitive, however large the layer. Inputs are a function of their place, so that no copy is kept;
// single outputs are computed in float64.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/executor.hpp"
#include "primitives/core/problem.hpp"
#include "primitives/core/tensor.hpp"

namespace znni::bench {

// One voxel of a tensor.
struct Place {
  std::int64_t s = 0;
  std::int64_t f = 0;
  Vec3 n;
  auto operator<=>(const Place&) const = default;
};

// Returns the input at a place, in [-1, 1), without a period. The same place always gives the same number.
[[nodiscard]] float input_value(const Shape5& shape, const Place& place);

// Fills a view with input_value(), and the padding channels of a blocked view with zeros.
void fill_input(const TensorView& view, Executor& executor);

// Returns the corners of the first and last channel of the first and last input, then random places: `count` in all, or
// every corner if these are more.
[[nodiscard]] std::vector<Place> sample_places(const Shape5& shape, int count);

// Returns the output of the problem at one place, in float64 by the definition in primitives/core/problems.
[[nodiscard]] double exact_output(const ConvProblem& problem, const LayerWeights& weights, const Place& place);

// Returns the largest difference over the root mean square of `exact`; infinity if a number is not finite.
[[nodiscard]] double relative_error(std::span<const float> found, std::span<const double> exact);

}  // namespace znni::bench
