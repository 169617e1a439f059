// ONNX operators that remove the border of a tensor, or put one around it.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Converts a Slice of spatial axes, or of channels, with steps of 1, whose borders are the same for all volumes. A
// start may count from the end (below 0), and an end from the begin (0 or more). Then it needs an extent that the
// graph's input declares, or bounds that are computed from extents.
[[nodiscard]] Result<void> convert_slice(const OnnxNode& node, OnnxBuilder& builder);
// Converts a Pad: zeros around space and channels, amounts below 0, which crop, or nothing, as exporters write it
// before an AveragePool.
[[nodiscard]] Result<void> convert_pad(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
