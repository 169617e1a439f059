// Attention, as exporters write it: the product of queries and keys, a scale, a softmax over the keys, and the product
// with the values; by MatMul or Einsum. Between them stands nothing else.
#pragma once

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Returns whether the node multiplies two computed tensors.
[[nodiscard]] bool is_product_of_tensors(const onnx::NodeProto& node, const OnnxBuilder& builder);

// Converts such a product: notes scores of attention, or appends attention where one of its inputs is their softmax.
[[nodiscard]] Result<void> multiply_tokens(const OnnxNode& node, OnnxBuilder& builder);
[[nodiscard]] Result<void> convert_einsum(const OnnxNode& node, OnnxBuilder& builder);

// Converts the product of scores and a constant, or their quotient by one.
[[nodiscard]] Result<void> scale_scores(const OnnxNode& node, OnnxBuilder& builder);

// Notes the softmax of scores over the keys.
[[nodiscard]] Result<void> share_scores(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
