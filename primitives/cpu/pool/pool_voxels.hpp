// The inner loops of poolings over blocked rows, for windows of up to 4 voxels per axis; pool_rows.hpp takes all. Every
// voxel of a plane is read once for each plane of windows that it lies in, however many rows and columns of windows
// share it: what is reduced over planes stays in the first-level cache.
#pragma once

#include <cstdint>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

inline constexpr std::int64_t most_pooled = 4;  // voxels of a window per axis

// One plane of positions of the window. Row y of positions begins at row y / kept_y * stride_y + y % kept_y of the
// input and goes to row y / kept_y of the outputs of offset y % kept_y. Along x position p goes to voxel p / stride_x
// of the output of offset p % stride_x, or nowhere where that is not below `kept_x`.
struct PooledPlane {
  const float* in = nullptr;  // the window's first voxel at position (0, 0)
  std::int64_t step_z = 0;    // floats
  std::int64_t step_y = 0;
  Vec3 window = Vec3::cube(2);
  std::int64_t rows = 0;
  std::int64_t positions = 0;  // of a row
  std::int64_t stride_y = 1;
  std::int64_t kept_y = 1;
  std::int64_t stride_x = 1;
  std::int64_t kept_x = 1;
  float factor = 1.0F;          // on what was reduced
  float* const* out = nullptr;  // [kept_y][kept_x]: row 0 of each
  std::int64_t out_step_y = 0;  // floats
  bool past_caches = false;     // all rows of out are aligned to 32 bytes, and nobody reads them soon
};

// `width` lanes of a voxel: 8 or 16. Strides along x are at most most_pooled_stride.
inline constexpr std::int64_t most_pooled_stride = 16;
void pool_voxels(PoolKind kind, std::int64_t width, const PooledPlane& plane);

// Makes stores past the caches visible to other workers.
void finish_pooling();

}  // namespace znni::cpu
