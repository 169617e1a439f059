// ONNX ConvTranspose.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// A transposed convolution of kernel k and stride s becomes a convolution of ceil(k / s) taps. It has f_out channels
// for each of the s voxels that it makes of one. Then comes a shuffle, of which the pads are cropped. s may be no
// longer than k. Kernels between groups are zeros.
[[nodiscard]] Result<void> convert_conv_transpose(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
