// Operators of sequences of known tensors, which exporters write for lists of extents.
#pragma once

#include "proto/convert/onnx/graph/onnx_builder.hpp"

namespace znni {

// Computes a SequenceEmpty, SequenceInsert or SequenceAt of a known sequence and a known index. Returns false, and does
// nothing, for any other node.
[[nodiscard]] Result<bool> fold_sequence(const onnx::NodeProto& node, OnnxBuilder& builder);

}  // namespace znni
