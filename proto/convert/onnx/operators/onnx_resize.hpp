// ONNX Resize and Upsample by whole factors, the same for all volumes: nearest neighbours, and of Resize linear
// interpolation between the centres of voxels.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

[[nodiscard]] Result<void> convert_resize(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_upsample(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
