// ONNX If and Loop, whose conditions are known while the file is read.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Reads the branch that is taken for all volumes in place of the node. A condition may have several elements if all are
// equal: PyTorch writes comparisons of whole shapes so.
[[nodiscard]] Result<void> convert_if(const OnnxNode& node, OnnxBuilder& builder);
// Runs a loop of known tensors alone. Fails if its turns are not known, are over 64, or compute voxels.
[[nodiscard]] Result<void> convert_loop(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
