// ONNX linear layers, Gemm and MatMul: over the channels of what is pooled of all voxels, [N][f], or of a patch,
// [N][f * voxels].
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Convert a linear layer to a convolution: of one voxel, of a pooled tensor of two axes
// (proto/convert/onnx/operators/onnx_pooled.hpp), or of all voxels of a patch, of a flattened tensor
// (proto/convert/onnx/operators/onnx_flatten.hpp). Its weights are a constant: [f][f_out], or with transB [f_out][f].
[[nodiscard]] Result<void> convert_gemm(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_mat_mul(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
