// Normalisations by lengths: LpNormalization, and what exporters write with ReduceL2.
#pragma once

#include "proto/convert/onnx/graph/onnx_written_lengths.hpp"
#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Converts an LpNormalization of the channels of each voxel, by the root of the sum of their squares.
[[nodiscard]] Result<void> convert_lp_normalization(const OnnxNode& node, OnnxBuilder& builder);

// Returns whether the nodes bring the channels of each voxel to unit length, or are a global response normalisation:
// lengths over all of space, their mean over the channels. Otherwise each is a node by itself.
[[nodiscard]] bool is_layer(const OnnxWrittenLength& length, const OnnxBuilder& builder);
// Converts these nodes. Requires is_layer().
void convert_written_length(const OnnxWrittenLength& length, OnnxBuilder& builder);

}  // namespace znni
