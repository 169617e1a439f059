// The gradient of a convolution's input as a convolution itself: of the output's gradient with k - 1 zeros around it,
// by kernels that are turned and whose channels are swapped. The gradient of these kernels is that of the convolution's
// own, turned.
#pragma once

#include <span>
#include <string_view>

#include "primitives/core/executor.hpp"
#include "primitives/core/problem.hpp"
#include "primitives/core/tensor.hpp"

namespace znni::cpu {

// Name of the buffer of turned kernels.
inline constexpr std::string_view turned_name = "turned kernels";

// Returns the convolution whose output is the gradient of the input. Its input has the zeros.
[[nodiscard]] ConvProblem turned_problem(const ConvProblem& conv);

// Writes the kernels [f_out][f][k] of a convolution turned: [f][f_out][k], taps in reverse order.
void turn_kernels(const ConvProblem& conv, std::span<const float> kernels, std::span<float> turned, Executor& executor);

// Returns planar kernels, S = f_out and f = f, as the turned convolution has them.
[[nodiscard]] TensorView turned_view(const TensorView& kernels);

}  // namespace znni::cpu
