// Poolings between views of the core as arguments of the kernel.
#pragma once

#include "primitives/core/problem.hpp"
#include "primitives/gpu/pool_element.hpp"

namespace znni::cuda {

// What the kernel is told for `pool` between these views, in vectors of `width` elements (1 for planar views).
[[nodiscard]] PoolArg pool_arg(const PoolProblem& pool, const TensorView& in, const TensorView& out, int width);
// 1, or 16 bytes' worth where both views are channels last and allow it.
[[nodiscard]] int pool_width(const TensorView& in, const TensorView& out);

}  // namespace znni::cuda
