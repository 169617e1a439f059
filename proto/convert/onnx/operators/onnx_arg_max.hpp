// ONNX ArgMax over channels, and the whole numbers that it writes: in the network they are float32, which is exact.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Converts an ArgMax over channels. Without keepdims the channel is left out of the tensor's axes.
[[nodiscard]] Result<void> convert_arg_max(const OnnxNode& node, OnnxBuilder& builder);

// Returns whether the node reads such numbers.
[[nodiscard]] bool reads_whole(const onnx::NodeProto& node, const OnnxBuilder& builder);
// Fails unless the node leaves them as they are, because others compute with whole numbers: a Cast, a change of axes, a
// Concat.
[[nodiscard]] Result<void> check_keeps_whole(const onnx::NodeProto& node, const OnnxBuilder& builder);
// Notes that what the node writes are whole numbers again. A Cast notes that itself.
void note_whole_outputs(const onnx::NodeProto& node, OnnxBuilder& builder);

}  // namespace znni
