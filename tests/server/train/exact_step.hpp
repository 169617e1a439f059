// Whole steps of training in float64, every layer and gradient by the oracle: what the prepared step is held against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/network/network.hpp"
#include "planner/train/step_plan.hpp"
#include "tests/oracle/gradients.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

// What a step makes in float64.
struct ExactStep {
  double loss = 0.0;
  oracle::Values output;                     // [f][n] as the loss sees it
  std::vector<oracle::Gradients> gradients;  // per node; `inputs` are empty
  // Least distance of a value to a kink of its activation, or of a window's two largest values, as a share of the rms
  // of the tensor: below about 1e-5, rounding decides which slope counts.
  double margin = 0.0;
};

// Half the sum of squared differences between the output and the target, [f][n].
[[nodiscard]] ExactStep exact_step(const Network& network, const Geometry& geometry, const NetworkWeights& weights,
                                   std::span<const float> input, std::span<const float> target);

// The same loss in float32.
[[nodiscard]] double squared_error(std::span<const float> output, std::span<const float> target,
                                   std::span<float> gradient);

// Returns the smallest legal patch with up to `more` voxels more of each fragment, drawn per axis.
[[nodiscard]] Vec3 random_patch(const Network& network, bool sparse, Random& random, std::int64_t more);

}  // namespace znni::test
