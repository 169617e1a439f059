// What makes a tensor of two, element by element: products and quotients. They differ in what they take.
#pragma once

#include "primitives/core/primitive.hpp"

namespace znni::cuda {

// Returns the layer that multiplies, or divides, its first input by the second.
[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> make_pairs_layer(Device& device, bool divides);

}  // namespace znni::cuda
