// Patch classifiers: linear layers of all voxels of a patch, in a net that neither pads nor upsamples.
//
// Such a file declares the extents of the patch that it classifies. Its convolutions leave [N][f][window...], which it
// flattens to [N][f * voxels], and multiplies by a matrix. That is a convolution with a kernel of that window, so that
// the network is valid like any other: it takes volumes of any extent, and classifies the patch at every position. What
// the file computes of the linear layer, [N][f_out], has one voxel of the patch: a tensor of two axes, as those that
// are pooled of all voxels (proto/convert/onnx/operators/onnx_pooled.hpp), but not bound to a window, and so an output,
// too.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Converts a Flatten of voxels. Fails as flatten() does.
[[nodiscard]] Result<void> convert_flatten_of_voxels(const OnnxNode& node, OnnxBuilder& builder);

// Makes the node's output all numbers of the value in one row; of a single voxel, that voxel with two axes. Fails
// unless the file declares the extents of its input, and channels and voxels follow the inputs of the batch. The value
// must have the same meaning at every position of a larger volume.
[[nodiscard]] Result<void> flatten(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& turned);
// Does the same for a Reshape to two axes. Fails, too, if these are not [N][f * voxels].
[[nodiscard]] Result<void> flatten_to(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& turned,
                                      const std::vector<VolumeNumber>& target);

// Returns the numbers in a row of the flattened tensor; saturates.
[[nodiscard]] std::int64_t row_length(const OnnxBuilder& builder, const std::string& tensor);
// Returns the place in [f][window...] of each number of that row. Requires a row that was found to be short, such as
// one with a number for each in the file.
[[nodiscard]] std::vector<std::size_t> places_in_kernel(const OnnxBuilder& builder, const std::string& tensor);

// Returns whether the node reads a flattened tensor as one.
[[nodiscard]] bool reads_flat(const onnx::NodeProto& node, const OnnxBuilder& builder);
// Returns the row of an operator that treats flattened tensors in its own way; nullptr for others.
[[nodiscard]] const OnnxOperator* find_flat_operator(const onnx::NodeProto& node);
// Fails unless any other operator makes a flattened tensor of one, as an activation does.
[[nodiscard]] Result<void> check_keeps_flat(const onnx::NodeProto& node, const OnnxBuilder& builder);

// Fails if an output of the graph is flattened, or if one is of a patch and another has other axes. What is pooled of
// all voxels counts as voxels.
[[nodiscard]] Result<void> check_axes_of_outputs(const OnnxGraph& graph, const OnnxBuilder& builder);

}  // namespace znni
