// Poolings between views of the core as arguments of the kernel.
#pragma once

#include "primitives/core/problem.hpp"
#include "primitives/gpu/pool_element.hpp"

namespace znni::cuda {

// Returns the kernel's argument for `pool` between these views, in vectors of `width` elements (1 for planar views).
[[nodiscard]] PoolArg pool_arg(const PoolProblem& pool, const TensorView& in, const TensorView& out, int width);
// Returns 16 bytes' worth of elements if both views are channels last and allow it, else 1.
[[nodiscard]] int pool_width(const TensorView& in, const TensorView& out);

}  // namespace znni::cuda
