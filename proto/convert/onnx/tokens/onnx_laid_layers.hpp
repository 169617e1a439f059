// Layers of tensors in another layout. Those that make each number of itself, or of numbers at the same place, ignore
// the layout; linear layers and layer normalisations want channels as the last axis.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Converts the node by `row` as if its inputs were the values; its output has their layout. Fails if they differ in
// layout.
[[nodiscard]] Result<void> convert_of_values(const OnnxOperator& row, const onnx::NodeProto& node,
                                             OnnxBuilder& builder);

// Convert a sum, difference, product or quotient with a constant: of one number, one for each channel, or, of sums, one
// for each channel and voxel.
[[nodiscard]] Result<void> add_constant(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> subtract_constant(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> multiply_by_constant(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> divide_by_constant(const OnnxNode& node, OnnxBuilder& builder);

// Convert a linear layer of channels that are the last axis to a convolution of one voxel.
[[nodiscard]] Result<void> convert_linear_of_tokens(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_gemm_of_tokens(const OnnxNode& node, OnnxBuilder& builder);

// Converts a layer normalisation of channels that are the last axis.
[[nodiscard]] Result<void> normalise_tokens(const OnnxNode& node, OnnxBuilder& builder);

// Appends an operation that makes each voxel of its channels, which are the last axis, in `channels` channels, and
// makes the node's output its value.
[[nodiscard]] Result<void> append_of_voxel(const OnnxNode& node, OnnxBuilder& builder, const AxisLayout& of,
                                           const Operation& operation, std::int64_t channels, NodeWeights weights);

}  // namespace znni
