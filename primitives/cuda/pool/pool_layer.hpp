// The parts that the poolings of this folder share; they differ in what they take.
#pragma once

#include "primitives/core/primitive.hpp"

namespace znni::cuda {

[[nodiscard]] Result<std::vector<Estimate>> describe_pool(std::string_view primitive, const PoolProblem& pool,
                                                          const DeviceSpec& spec);
[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> prepare_pool(const LayerProblem& problem, const Estimate& chosen,
                                                                  const LayerWeights& weights, Arena& persistent,
                                                                  Device& device);

}  // namespace znni::cuda
