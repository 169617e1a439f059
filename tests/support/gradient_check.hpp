// Runs gradients as a trainer does, and holds them to the oracle: the same placings, poisoning and checks as the
// harness of layers (tests/support/harness.hpp).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "primitives/core/gradient.hpp"
#include "tests/support/cpu.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

// Random tensors of a gradient, dense and planar, and what the oracle makes of them.
struct GradientData {
  Weights weights;
  std::vector<float> output;  // gradient of the layer's output
  std::vector<float> saved;   // empty if the gradient reads none
  std::vector<float> result;  // the layer's output, if the gradient reads it, too
  oracle::Values gradient;
  oracle::Values kernels;  // of both: that of the kernels
  oracle::Values bias;
  double tolerance = 0.0;
  double kernels_tolerance = 0.0;
  double bias_tolerance = 0.0;
};
[[nodiscard]] GradientData gradient_data(const GradientProblem& problem, std::uint64_t seed);

struct GradientOutcome {
  std::vector<float> gradient;  // dense planar
  std::vector<float> kernels;   // of both: that of the kernels
  std::vector<float> bias;
  std::int64_t high_water = 0;
  bool padding_is_zero = true;
  bool surroundings_kept = true;
  bool replaced_saved = false;  // the gradient was written where the saved value lay
};
// Runs the gradient once. If packed, the gradient lies where the saved value is, if the plan lets it. An error
// becomes a test failure and an empty outcome.
[[nodiscard]] GradientOutcome run_gradient(const GradientPrimitive& primitive, const GradientProblem& problem,
                                           const Estimate& estimate, const GradientData& data, Device& device,
                                           Placing placing, std::uint64_t seed = 1);

// Runs random data through every estimate of `primitive`, in both placings, and compares with the oracle; gradients of
// a convolution's weights also without a bias. Also checks the declared peak, padding and surroundings. A refusal is a
// failure.
void check_gradient(const GradientPrimitive& primitive, const GradientProblem& problem, Device& device,
                    std::uint64_t seed);

// Checks `count` problems from make(random), which the primitive must take, for each vector width of this processor.
template <class Make>
void check_random_gradients(const GradientPrimitive& primitive, int count, const Make& make) {
  for (const int simd_floats : {16, 8, 4}) {
    if (simd_floats > cpu::describe_cpu(1).simd_floats) continue;
    const std::unique_ptr<Device> device = open_cpu(2, simd_floats);
    for (int i = 0; i < case_count(count); ++i) {
      const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
      Random random(seed);
      const GradientProblem problem = make(random);
      SCOPED_TRACE(to_string(problem) + ", vectors of " + std::to_string(simd_floats));
      check_gradient(primitive, problem, *device, seed);
    }
  }
}

// Expects that the primitive refuses `problem`, with a message that contains `reason`.
void expect_gradient_refusal(const GradientPrimitive& primitive, const GradientProblem& problem,
                             std::string_view reason);

// Returns the problems of all gradients of a layer: of each input, of the weights, and of both at once.
[[nodiscard]] std::vector<GradientProblem> gradients_of(const LayerProblem& layer);

// Returns a random layer that has gradients: it has no activation besides its own kind.
[[nodiscard]] LayerProblem random_trained_layer(Random& random);

}  // namespace znni::test
