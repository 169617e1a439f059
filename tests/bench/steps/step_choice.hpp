// What a step of training computes of one convolution in the middle of a net, and how the step planner
// (planner/train/step_search.hpp) would compute it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "planner/train/step_search.hpp"

namespace znni::bench {

// In the order in which a step runs them. The last one stands for the two before it.
inline constexpr std::array<std::string_view, 4> step_parts = {"forward", "gradient of the weights",
                                                               "gradient of the input", "both gradients"};

// Returns the works of the first three parts. Input and gradient of the output are there, in any format.
[[nodiscard]] StepGraph step_of_layer(const ConvProblem& problem);

// Returns the calls of the fastest step within `memory` bytes of host RAM, kernels and their gradients among them, in
// the order of the parts; StepCall::node is the part. A part has more than one call if a tensor is reordered for it.
// Fails if no way is known; with `over_budget`, and both numbers, if the smallest step takes more.
[[nodiscard]] Result<std::vector<StepCall>> plan_layer_step(const ConvProblem& problem, const StepParts& parts,
                                                            std::int64_t memory);

// Returns all ways to compute one part, each as a call. A layer's or a gradient's way is one call. Fails if there is
// none.
[[nodiscard]] Result<std::vector<StepCall>> calls_of_part(const ConvProblem& problem, int part, const StepParts& parts);

// Returns the name of what computes a call.
[[nodiscard]] std::string_view primitive_of(const StepCall& call);

}  // namespace znni::bench
