// ONNX Reshape as PyTorch writes GroupNorm: to [N, groups, the rest], where InstanceNormalization takes the groups for
// channels, and back.
#pragma once

#include "proto/convert/onnx_operators.hpp"

namespace znni {

// Notes a Reshape into groups of channels, without computation; only InstanceNormalization and a Reshape back to the
// extents before can read its output. Any other Reshape of voxels is refused.
[[nodiscard]] Result<void> convert_reshape(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
