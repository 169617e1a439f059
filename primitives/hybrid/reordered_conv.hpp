// A convolution of planar float32 tensors by a primitive of a GPU that reads or writes another format: the tensors are
// reordered there before it and behind it. For parts of layers whose tensors lie in host RAM.
#pragma once

#include <memory>

#include "primitives/core/accelerator.hpp"
#include "primitives/core/primitive.hpp"

namespace znni::hybrid {

// `inner`: of `conv`, by any primitive. `reorder` takes those tensors that are not planar. Its variant, and what it
// keeps, are the inner estimate's; its precision is not: that is said by the formats of `inner`.
[[nodiscard]] Result<Estimate> describe_reordered(const ConvProblem& conv, const Estimate& inner,
                                                  const Primitive& reorder, const DeviceSpec& spec);

// Grants the persistent buffers of the estimate. `poison`: of scratch, as in Arena.
[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> prepare_reordered(
    const ConvProblem& conv, const Primitive& primitive, const Estimate& inner, const Primitive& reorder,
    const LayerWeights& weights, Arena& persistent, Accelerator& accelerator, const Arena::Poison& poison = {});

}  // namespace znni::hybrid
