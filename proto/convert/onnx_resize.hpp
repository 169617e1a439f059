// ONNX Resize and Upsample by whole factors, which are constants: nearest neighbours, and of Resize linear
// interpolation between the centres of voxels.
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

[[nodiscard]] Result<void> convert_resize(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_upsample(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
