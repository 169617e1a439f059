// ONNX linear layers over channels, Gemm and MatMul, of what is pooled of all voxels: [N][f].
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

// Convert a linear layer to a convolution of one voxel. Its input is a pooled tensor of two axes
// (proto/convert/onnx_pooled.hpp), its weights are a constant: [f][f_out], or with transB [f_out][f].
[[nodiscard]] Result<void> convert_gemm(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_mat_mul(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
