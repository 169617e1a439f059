// Products and quotients of two tensors as arguments of the kernel.
#pragma once

#include "primitives/core/tensor.hpp"
#include "primitives/gpu/elementwise/multiply_element.hpp"

namespace znni::cuda {

// Returns rows, steps, pointers and width for in * other, or for in / other if `divides`. All views have one layout and
// type, and one shape, but for the channels of `other`: as many or 1.
[[nodiscard]] MultiplyArg multiply_arg(const TensorView& in, const TensorView& other, const TensorView& out,
                                       bool divides);

}  // namespace znni::cuda
