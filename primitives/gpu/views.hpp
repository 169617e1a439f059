// Views and problems of the core as arguments of kernels.
#pragma once

#include <span>

#include "primitives/core/problem.hpp"
#include "primitives/gpu/activate.hpp"
#include "primitives/gpu/elementwise/elementwise_element.hpp"
#include "primitives/gpu/kernel_types.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Returns the storage of a type. Stops the program for u16, which has no kernels.
[[nodiscard]] Storage storage_of(ElementType type);
[[nodiscard]] Act act_of(ActivationKind kind);
[[nodiscard]] Extent extent_of(Vec3 n);
[[nodiscard]] Steps steps_of(const Strides& strides);
// Returns steps in vectors of `width` elements along the contiguous axis, whose own step stays 1. The others must be
// divisible.
[[nodiscard]] Steps steps_of(const TensorView& view, int width);

// Returns how many elements kernels may move at once in all of `views`, of one layout and element type: 16 bytes'
// worth. Returns 1 if an address, an extent or a stride (of an axis longer than 1) is not a multiple of that.
[[nodiscard]] int vector_width(std::span<const TensorView> views);

[[nodiscard]] RowShape rows_of(const TensorView& view, int width);
[[nodiscard]] RowSteps row_steps_of(const TensorView& view, int width);

// Returns rows, steps, pointers and width for `inputs` (at most max_inputs) and `out`, all of one shape, layout and
// type.
[[nodiscard]] ElementwiseArg elementwise_arg(std::span<const TensorView> inputs, const TensorView& out,
                                             Activation activation);

// Fails with unsupported if one row with all its channels has more elements than kernels count in 32 bits.
[[nodiscard]] Result<void> check_rows(const Shape5& shape);

}  // namespace znni::cuda
