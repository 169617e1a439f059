// Convolutions of few channels between views of the core, as arguments of the kernel.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/problem.hpp"
#include "primitives/gpu/first_element.hpp"

namespace znni::cuda {

[[nodiscard]] FirstConv first_conv(const ConvProblem& conv, const TensorView& in);
[[nodiscard]] FirstArg first_arg(const ConvProblem& conv, const TensorView& in, const TensorView& out);

// Returns the channels of the output, rounded up to sixteens.
[[nodiscard]] std::int64_t first_padded(std::int64_t f_out);
// Returns kernels [f_out][f][k] as the kernel reads them: [f][k][first_padded(f_out)], padding zero.
[[nodiscard]] std::vector<float> first_weights(const ConvProblem& conv, std::span<const float> kernels);

}  // namespace znni::cuda
