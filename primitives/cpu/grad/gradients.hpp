// The table of gradients of the CPU back end, and shared parts of its primitives.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "primitives/core/gradient.hpp"

namespace znni::cpu {

// Returns the gradients, in the order of GRADIENTS in CMakeLists.txt.
[[nodiscard]] std::span<const GradientPrimitive* const> gradient_registry();

// Returns the bytes of all tensors of a run.
[[nodiscard]] double gradient_traffic(const GradientProblem& problem, Format in, Format out);

// Returns one estimate per format (read and written alike) for gradients that only pass over their tensors.
[[nodiscard]] std::vector<Estimate> streaming_gradients(const GradientProblem& problem, const DeviceSpec& spec,
                                                        const std::vector<Format>& formats, double flops_per_element);

}  // namespace znni::cpu
