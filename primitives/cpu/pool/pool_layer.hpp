// What cpu.pool.max, cpu.pool.average and cpu.pool.mpf share: they differ in the problems they take, not in
// how they compute them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni::cpu {

// One estimate per format of the device (read and written alike); two rows of scratch per worker where one
// pass does not do.
[[nodiscard]] std::vector<Estimate> describe_pool(const PoolProblem& pool, const DeviceSpec& spec);

[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> prepare_pool(const LayerProblem& problem, const Estimate& chosen,
                                                                  const LayerWeights& weights, Arena& persistent,
                                                                  Device& device);

// Which input (S) of the output the pooling at `offset` of input s writes; the order of fragments is that of
// PoolProblem: along each axis the newest offset is the most significant digit.
[[nodiscard]] std::int64_t pooled_input(const PoolProblem& pool, std::int64_t s, Vec3 offset);

// Whether what is written to `out` from the first voxels `to` on is aligned as stores past the caches want it, and more
// than `cache_bytes`: of the whole tensor, where `out` is a slab.
[[nodiscard]] bool goes_past_caches(const TensorView& out, std::span<float* const> to, std::int64_t cache_bytes);

}  // namespace znni::cpu
