// Tensors that hold a value in another layout (proto/convert/onnx/graph/onnx_layout.hpp): voxels as tokens, channels as
// heads. The file must declare the extents of its input.
#pragma once

#include <vector>

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Returns the layout of the tensor at an input, whatever form it has. Fails if it is no tensor of channels and voxels,
// or if its extents are open.
[[nodiscard]] Result<AxisLayout> layout_at(const OnnxNode& node, const OnnxBuilder& builder, int index);

// Returns whether the input stands for something of a guessed form.
[[nodiscard]] bool reads_guessed_value(const OnnxNode& node, const OnnxBuilder& builder);

// Makes the tensor, an output of a node, this layout: the value itself where its axes are in order, a turned value
// where its channels are last.
void keep_layout(const std::string& tensor, OnnxBuilder& builder, AxisLayout layout);

// Returns the place of an axis that a node names, of a tensor that has `count`.
[[nodiscard]] Result<std::size_t> place_of_axis(std::int64_t axis, std::size_t count);

// Returns a value of these channels of a value, in this order. Linear layers and scales that wrote it are computed for
// these channels alone.
[[nodiscard]] Result<int> selected(const OnnxNode& node, OnnxBuilder& builder, int value,
                                   const std::vector<std::int64_t>& channels);

// Returns the tensor as one of all channels of a value, which are its last axis. Fails if the last axis holds anything
// but channels that follow each other, or another axis holds channels.
[[nodiscard]] Result<AxisLayout> with_whole_channels(const OnnxNode& node, OnnxBuilder& builder,
                                                     const AxisLayout& layout);

}  // namespace znni
