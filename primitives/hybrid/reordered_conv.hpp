// A convolution of planar float32 tensors by a GPU primitive that reads or writes another format. The GPU reorders the
// tensors before and after it. Used for sub-layers of layers with tensors in host RAM.
#pragma once

#include <memory>

#include "primitives/core/accelerator.hpp"
#include "primitives/core/primitive.hpp"

namespace znni::hybrid {

// Describes the convolution around `inner`, an estimate for `conv` by any primitive. `reorder` converts the tensors
// that are not planar. The result has the inner estimate's variant and persistent buffers. Its formats do not tell its
// precision; those of `inner` do.
[[nodiscard]] Result<Estimate> describe_reordered(const ConvProblem& conv, const Estimate& inner,
                                                  const Primitive& reorder, const DeviceSpec& spec);

// Builds the layer; `persistent` grants the persistent buffers of the estimate. `poison` fills scratch, as in Arena.
[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> prepare_reordered(
    const ConvProblem& conv, const Primitive& primitive, const Estimate& inner, const Primitive& reorder,
    const LayerWeights& weights, Arena& persistent, Accelerator& accelerator, const Arena::Poison& poison = {});

}  // namespace znni::hybrid
