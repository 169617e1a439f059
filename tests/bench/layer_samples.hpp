// Inputs of a convolution as a function of their place, so that no copy of them is kept, and the float64 value of
// single outputs: what a timed primitive is checked against, however large the layer.
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

// In [-1, 1), without a period: the same place gives the same number.
[[nodiscard]] float input_value(const Shape5& shape, const Place& place);

// input_value() everywhere; zeros in the padding images of a blocked view.
void fill_input(const TensorView& view, Executor& executor);

// The corners of the first and the last image of the first and the last input, then places drawn at random: `count`
// in all, or every corner where these are more.
[[nodiscard]] std::vector<Place> sample_places(const Shape5& shape, int count);

// The output of the problem at one place, evaluated in float64 by the definition in primitives/core/problem.hpp.
[[nodiscard]] double exact_output(const ConvProblem& problem, const LayerWeights& weights, const Place& place);

// The largest difference over the root of the mean square of `exact`; infinite where a number is not finite.
[[nodiscard]] double relative_error(std::span<const float> found, std::span<const double> exact);

}  // namespace znni::bench
