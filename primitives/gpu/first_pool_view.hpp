// Convolutions of few channels that are pooled, between views of the core, as arguments of the kernel.
#pragma once

#include "primitives/core/problem.hpp"
#include "primitives/gpu/first_pool_element.hpp"

namespace znni::cuda {

[[nodiscard]] FirstPoolArg first_pool_arg(const ConvPoolProblem& both, const TensorView& in, const TensorView& out);

// Returns the voxels of one channel of the convolution that all blocks compute together: those that tiles share count
// for each.
[[nodiscard]] double first_pool_voxels(const FirstPoolArg& arg);

}  // namespace znni::cuda
