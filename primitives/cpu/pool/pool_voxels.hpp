// The inner loops of poolings over blocked rows, for windows of up to 4 voxels per axis; pool_rows.hpp handles all
// windows. Every voxel of a plane is read once for each plane of windows that contains it, although several rows and
// columns of windows share it. Results of the reduction over planes stay in the first-level cache.
#pragma once

#include <cstdint>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

inline constexpr std::int64_t max_pooled = 4;  // maximum voxels of a window per axis

// One plane of window positions. Row y of positions begins at row y / kept_y * stride_y + y % kept_y of the input. It
// goes to row y / kept_y of the outputs of offset y % kept_y. Along x, position p goes to voxel p / stride_x of the
// output of offset p % stride_x; it is dropped if that offset is not below `kept_x`.
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
  float factor = 1.0F;          // factor of the reduced value
  float* const* out = nullptr;  // [kept_y][kept_x]: row 0 of each
  std::int64_t out_step_y = 0;  // floats
  bool past_caches = false;     // all rows of out are aligned to 32 bytes and are not read soon
};

// Pools one plane; a voxel has `width` lanes, 8 or 16. Strides along x are at most max_pooled_stride.
inline constexpr std::int64_t max_pooled_stride = 16;
void pool_voxels(PoolKind kind, std::int64_t width, const PooledPlane& plane);

// Makes non-temporal stores visible to other workers.
void finish_pooling();

}  // namespace znni::cpu
