// What transformers make of a value: tokens, linear layers of them, and attention. The operators that may read a tensor
// in another layout, or scores of attention, stand here.
#pragma once

#include "proto/convert/onnx/graph/onnx_written_norms.hpp"
#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Returns whether the node reads a tensor in another layout or scores of attention, or multiplies two computed tensors.
[[nodiscard]] bool reads_tokens(const onnx::NodeProto& node, const OnnxBuilder& builder);

// Converts such a node. `regular` is the operator's row in the table of all operators; nullptr if it has none.
[[nodiscard]] Result<void> convert_tokens(const onnx::NodeProto& node, OnnxBuilder& builder,
                                          const OnnxOperator* regular);

// Appends an operation that makes each number of itself, if the tensor `x` is in another layout or has other axes; the
// node's output has its layout. Returns whether it is such a tensor.
[[nodiscard]] bool append_in_layout(const onnx::NodeProto& node, OnnxBuilder& builder, const std::string& x,
                                    const Operation& operation);

// Returns whether the nodes normalise the last axis of a tensor in another layout.
[[nodiscard]] bool is_of_tokens(const OnnxWrittenNorm& norm, const OnnxBuilder& builder);
// Converts these nodes. Fails if the axis is not that of the channels. Requires is_of_tokens().
[[nodiscard]] Result<void> convert_norm_of_tokens(const OnnxWrittenNorm& norm, OnnxBuilder& builder);

// Returns whether the node, which its regular row refused, lays a tensor out in another way. Returns true for a linear
// layer or an activation between Transposes, too.
[[nodiscard]] bool may_lay_out(const onnx::NodeProto& node, const OnnxBuilder& builder);

}  // namespace znni
