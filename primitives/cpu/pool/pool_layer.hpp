// Shared parts of cpu.pool.max, cpu.pool.average and cpu.pool.mpf. They accept different problems but compute them in
// the same way.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni::cpu {

// Returns one estimate per format of the device (read and written alike). Poolings that one pass cannot do need two
// rows of scratch per worker.
[[nodiscard]] std::vector<Estimate> describe_pool(const PoolProblem& pool, const DeviceSpec& spec);

[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> prepare_pool(const LayerProblem& problem, const Estimate& chosen,
                                                                  const LayerWeights& weights, Arena& persistent,
                                                                  Device& device);

// Returns the input (S) of the output that the pooling at `offset` of input s writes. The order of fragments is that of
// PoolProblem: along each axis the newest offset is the most significant digit.
[[nodiscard]] std::int64_t pooled_input(const PoolProblem& pool, std::int64_t s, Vec3 offset);

// Returns whether to use non-temporal stores for `out` from the first voxels `to` on. They need aligned rows and a
// tensor larger than `cache_bytes`; if `out` is a slab, the whole tensor counts.
[[nodiscard]] bool goes_past_caches(const TensorView& out, std::span<float* const> to, std::int64_t cache_bytes);

}  // namespace znni::cpu
