// ONNX operators that pool all voxels of each channel: GlobalAveragePool and what is written in its place.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Convert a pooling of all voxels. The file's tensor has one voxel per channel
// (proto/convert/onnx/operators/onnx_pooled.hpp).
[[nodiscard]] Result<void> convert_global_average_pool(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_global_max_pool(const OnnxNode& node, OnnxBuilder& builder);

// Convert a mean or a maximum over all spatial axes, which are kept with one voxel or left out. The axes are an
// attribute or, in later operator sets, an input. Others are refused.
[[nodiscard]] Result<void> convert_reduce_mean(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_reduce_max(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
