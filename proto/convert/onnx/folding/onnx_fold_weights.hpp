// Computes nodes of constants that are too large for known tensors (proto/convert/onnx/graph/onnx_known.hpp): weights
// that a file computes of others, such as those of weight_norm. All numbers are reals; sums are in float64.
#pragma once

#include "proto/convert/onnx/graph/onnx_builder.hpp"

namespace znni {

// Computes the node if all its inputs are constants, the first one of reals, and its operator is known here. Known are:
//   arithmetic: Abs, Add, Div, Mul, Neg, Pow, Reciprocal, Sqrt, Sub;
//   sums: ReduceL2, ReduceMean, ReduceSum, ReduceSumSquare;
//   layout: Cast to floating point, Identity, Reshape, Squeeze, Transpose, Unsqueeze.
// Its output is a constant from then on. Returns false, and does nothing, for any other node. Fails if the extents do
// not fit, or if all such nodes together compute with more numbers than the net may have parameters.
[[nodiscard]] Result<bool> fold_weights(const onnx::NodeProto& node, OnnxBuilder& builder);

}  // namespace znni
