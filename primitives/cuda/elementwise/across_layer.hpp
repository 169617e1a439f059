// The parts that layers share which make each voxel of its channels; they differ in what they take.
#pragma once

#include "primitives/core/primitive.hpp"

namespace znni::cuda {

// Prepares an AcrossChannelsProblem of any kind.
[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> prepare_across(const LayerProblem& problem, const Estimate& chosen,
                                                                    const LayerWeights& weights, Arena& persistent,
                                                                    Device& device);

}  // namespace znni::cuda
