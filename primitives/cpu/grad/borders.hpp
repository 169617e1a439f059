// Copies of tensors with zeros around them.
#pragma once

#include <cstdint>

#include "primitives/core/executor.hpp"
#include "primitives/core/tensor.hpp"

namespace znni::cpu {

// Computes to[s][i][v] = from[s][first + i][v - begin] where that exists, else 0. The views have the same format; where
// it is blocked, `first` is a whole number of blocks.
void copy_bordered(const TensorView& from, std::int64_t first, Vec3 begin, const TensorView& to, Executor& executor);

}  // namespace znni::cpu
