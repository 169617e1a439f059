// Nodes that lay a tensor out in another way: Reshape, Transpose, Squeeze, Unsqueeze, Split, Gather of one place,
// Slice, and those that change nothing. None computes anything.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

[[nodiscard]] Result<void> reshape_laid(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> transpose_laid(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> squeeze_laid(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> unsqueeze_laid(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> split_laid(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> gather_laid(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> slice_laid(const OnnxNode& node, OnnxBuilder& builder);
// Passes on a tensor, or scores, as they are.
[[nodiscard]] Result<void> pass_laid_on(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
