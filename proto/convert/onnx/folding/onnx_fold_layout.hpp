// Operators that put elements of known tensors (proto/convert/onnx/graph/onnx_known.hpp) into other places.
#pragma once

#include <span>

#include "proto/convert/onnx/folding/onnx_fold.hpp"

namespace znni {

// Returns the rows of Concat, ConstantOfShape, Expand, Gather, Identity, Range, Reshape, Slice, Squeeze, Transpose and
// Unsqueeze.
[[nodiscard]] std::span<const FoldRow> layout_folds();

// Returns the extents to which tensors of both extents are repeated. Fails if they do not fit.
[[nodiscard]] Result<std::vector<std::int64_t>> broadcast(const std::vector<std::int64_t>& a,
                                                          const std::vector<std::int64_t>& b);
// Returns the tensor repeated to extents that broadcast() made of its own.
[[nodiscard]] Result<KnownTensor> expanded(const KnownTensor& tensor, const std::vector<std::int64_t>& dims);

}  // namespace znni
