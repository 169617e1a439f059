// What stands for padding as the argument of the kernel.
#pragma once

#include "primitives/core/outside_fill.hpp"
#include "primitives/gpu/outside_element.hpp"

namespace znni::cuda {

// Returns the kernel's argument for the view of `fill`, which is planar or channels last.
[[nodiscard]] OutsideArg outside_arg(const OutsideFill& fill);

}  // namespace znni::cuda
