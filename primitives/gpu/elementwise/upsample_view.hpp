// Upsamplings between views of the core as arguments of the kernel.
#pragma once

#include "primitives/core/problem.hpp"
#include "primitives/gpu/elementwise/upsample_element.hpp"

namespace znni::cuda {

// Returns the kernel's argument for `upsample` between these views, in vectors of `width` elements: 1, or for channels
// last vector_width() of both.
[[nodiscard]] UpsampleArg upsample_arg(const UpsampleProblem& upsample, const TensorView& in, const TensorView& out,
                                       int width);

}  // namespace znni::cuda
