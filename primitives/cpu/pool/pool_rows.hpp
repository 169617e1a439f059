// The inner loops of the poolings, over rows of floats: `width` neighbouring floats (lanes) make a voxel. A pooling is
// separable. It goes first over the window's planes and rows, then along x, and then every stride-th voxel is kept.
// Averages are kept as sums until take_voxels() scales them.
#pragma once

#include <cstdint>
#include <span>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

// Computes to[i] = max or sum of in[z * stride_z + y * stride_y + i] over z < window.z, y < window.y.
void pool_rows(PoolKind kind, const float* in, std::int64_t stride_z, std::int64_t stride_y, Vec3 window,
               std::span<float> to);

// Computes to[i] = max or sum of from[i + d * step] over d < window. `from` holds (window - 1) * step floats more than
// `to`.
void pool_along_row(PoolKind kind, std::span<const float> from, std::int64_t step, std::int64_t window,
                    std::span<float> to);

// Sets voxel v of `to` to factor * voxel (first + v * stride) of `from`.
void take_voxels(std::span<const float> from, std::int64_t width, std::int64_t first, std::int64_t stride, float factor,
                 std::span<float> to);

}  // namespace znni::cpu
