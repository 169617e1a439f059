// Convolutions with strides and groups between views of the core, as arguments of the kernel.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/problem.hpp"
#include "primitives/gpu/direct_element.hpp"

namespace znni::cuda {

// Returns the channels of a block: 4, or 1 if a group has fewer than 4 channels of the output.
[[nodiscard]] int direct_channels(const ConvProblem& conv);
// Returns the channels of all blocks, padding counted.
[[nodiscard]] std::int64_t direct_padded(const ConvProblem& conv);

// Returns the kernel's argument. `inputs`: the input and a residual, if the problem has one.
[[nodiscard]] DirectArg direct_arg(const ConvProblem& conv, std::span<const TensorView> inputs, const TensorView& out);

// Returns kernels [f_out][f / groups][k] as the kernel reads them: [f / groups][k][direct_padded()], padding zero.
[[nodiscard]] std::vector<float> direct_weights(const ConvProblem& conv, std::span<const float> kernels);
// Returns the bias of the channels of all blocks: zeros if there is none.
[[nodiscard]] std::vector<float> direct_bias(const ConvProblem& conv, std::span<const float> bias);

}  // namespace znni::cuda
