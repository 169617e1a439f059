// Model of the rows of conv_direct_kernel.hpp, for what computes with them.
#pragma once

#include "primitives/core/primitive.hpp"

namespace znni::cpu {

// Returns the operations at the device's rate that take as long as all rows of the convolution, with its activation and
// residual. It has no groups.
[[nodiscard]] double direct_row_flops(const ConvProblem& conv, const DeviceSpec& spec);

}  // namespace znni::cpu
