// Operators that compute elements of known tensors (proto/convert/onnx/graph/onnx_known.hpp) one by one. Numbers that
// depend on the volume stay exact for all volumes; what would not be is refused.
#pragma once

#include <span>

#include "proto/convert/onnx/folding/onnx_fold.hpp"

namespace znni {

// Returns the rows of Add, And, Cast, Div, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Max, Min, Mod, Mul, Neg,
// Not, Or, ReduceMax, ReduceMin, Sub and Where.
[[nodiscard]] std::span<const FoldRow> arithmetic_folds();

}  // namespace znni
