// The table of gradients of the CPU back end, and shared parts of its primitives.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "primitives/core/gradient.hpp"

namespace znni::cpu {

// Returns the gradients, in the order of GRADIENTS in CMakeLists.txt.
[[nodiscard]] std::span<const GradientPrimitive* const> gradient_registry();

// Returns whether one gradient is asked for, of the first input or of the weights, and not both.
[[nodiscard]] inline bool is_single(const GradientProblem& problem) {
  return problem.of != GradientOf::both && problem.input == 0;
}

// Returns the bytes of all tensors of a run.
[[nodiscard]] double gradient_traffic(const GradientProblem& problem, Format in, Format out);

// Returns one estimate per format (read and written alike) for gradients that only pass over their tensors.
[[nodiscard]] std::vector<Estimate> streaming_gradients(const GradientProblem& problem, const DeviceSpec& spec,
                                                        const std::vector<Format>& formats, double flops_per_element);

// Prepares a gradient of a convolution that needs no scratch, as GradientPrimitive::prepare: an Input(conv, kernels,
// executor) or a Weights(conv, executor).
template <class Input, class Weights>
Result<std::unique_ptr<PreparedGradient>> prepare_without_scratch(const GradientProblem& problem, const Estimate&,
                                                                  const LayerWeights& weights, Arena&, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem.layer);
  using Made = std::unique_ptr<PreparedGradient>;
  if (problem.of == GradientOf::weights) return Made(std::make_unique<Weights>(conv, device.executor()));
  return Made(std::make_unique<Input>(conv, weights.kernels, device.executor()));
}

}  // namespace znni::cpu
