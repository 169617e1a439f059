// What is made of all voxels of a channel as arguments of kernels.
#pragma once

#include "primitives/core/problem.hpp"
#include "primitives/gpu/elementwise/moments_element.hpp"

namespace znni::cuda {

// Returns the parts into which each channel of a tensor of `shape` is cut: the same in every format.
[[nodiscard]] std::int64_t moments_parts(const Shape5& shape);

[[nodiscard]] MomentsArg moments_arg(const TensorView& in, Joining joining);

// Return the argument of a group's sums, without the device memory of a norm's parameters.
[[nodiscard]] GroupsArg groups_arg(const NormProblem& norm);
[[nodiscard]] GroupsArg groups_arg(const GlobalPoolProblem& pool);

// Returns the argument of the last pass. `in`: nullptr for a pooling, which reads nothing again.
[[nodiscard]] FactorsArg factors_arg(const TensorView* in, const TensorView& out, const ChannelFactors* factors,
                                     Activation activation);

}  // namespace znni::cuda
