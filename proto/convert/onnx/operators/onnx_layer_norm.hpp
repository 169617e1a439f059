// Layer normalisation of the channels of each voxel: LayerNormalization, and the nodes that exporters write for it.
#pragma once

#include "proto/convert/onnx/graph/onnx_written_norms.hpp"
#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Converts a LayerNormalization of channels that are the last axis. Its scale and shift are a layer of their own, which
// a convolution behind it takes in.
[[nodiscard]] Result<void> convert_layer_normalization(const OnnxNode& node, OnnxBuilder& builder);

// Returns whether the nodes normalise the channels of a value. Otherwise each is a node by itself.
[[nodiscard]] bool is_over_channels(const OnnxWrittenNorm& norm, const OnnxBuilder& builder);
// Converts these nodes. Requires is_over_channels().
void convert_written_norm(const OnnxWrittenNorm& norm, OnnxBuilder& builder);

}  // namespace znni
