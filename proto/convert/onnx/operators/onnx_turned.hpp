// Tensors that hold a value with its axes in another order, and with axes of one element or of copies between them:
// Transpose, Squeeze, Unsqueeze, and the Tile and Reshape behind them. Frameworks whose channels are last are exported
// so, with their nearest upsampling as Unsqueeze, Tile and Reshape along each axis. Nothing but that is computed.
#pragma once

#include <vector>

#include "proto/convert/onnx/operators/onnx_node.hpp"
#include "proto/convert/onnx/operators/onnx_reshape.hpp"

namespace znni {

// Copies of a voxel along an axis.
inline constexpr std::int64_t max_copies = 256;

// Returns the axes of [N][f][spatial...].
[[nodiscard]] std::vector<int> axes_in_order(int rank);

// Returns the tensor at input 0, whether its axes are in order or not.
[[nodiscard]] Result<TurnedValue> turned_at(const OnnxNode& node, const OnnxBuilder& builder);
[[nodiscard]] TensorExtents extents_of(const OnnxBuilder& builder, const TurnedValue& turned);

// Makes the node's output this tensor: a name of its value where the axes are in order.
void keep_turned(const OnnxNode& node, OnnxBuilder& builder, TurnedValue turned);

// Returns whether the tensor is [N][spatial...][f].
[[nodiscard]] bool is_channels_last(const OnnxBuilder& builder, const TurnedValue& turned);

// Returns whether the tensor is [N][spatial...] of a value of one channel.
[[nodiscard]] bool is_without_channel(const OnnxBuilder& builder, const TurnedValue& turned);

// Note the nodes, without computation. Axes may be taken away that have one element: those that Unsqueeze has added,
// and that of a single channel.
[[nodiscard]] Result<void> convert_transpose(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_squeeze(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_unsqueeze(const OnnxNode& node, OnnxBuilder& builder);

// Notes copies along axes that Unsqueeze has added.
[[nodiscard]] Result<void> tile_turned(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& turned);

// Converts a Reshape that moves, adds or takes away axes of one element. It may also join axes of copies with the axis
// before them, which is an upsampling by nearest neighbours. Returns whether it is one.
[[nodiscard]] Result<bool> reshape_turned(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& turned);

}  // namespace znni
