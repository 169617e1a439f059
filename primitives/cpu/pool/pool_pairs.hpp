// The inner loops of max poolings over blocked rows with windows of 2x2x2 or 1x2x2 voxels and equal strides, as in most
// nets. pool_voxels.hpp has the general loops. Windows of neighbouring offsets share all voxels except those at their
// sides, so all offsets are computed at once. Each voxel is loaded once for every pair of rows that needs it, and the
// intermediate maxima stay in registers.
#pragma once

#include <cstdint>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

// Windows of one plane of the outputs. Window (y, x) of an offset begins 2 y rows and 2 x voxels after the offset.
struct PairedPlane {
  const float* in = nullptr;  // first voxel of the first window of offset 0
  std::int64_t step_z = 0;    // floats
  std::int64_t step_y = 0;
  std::int64_t window_z = 2;     // 1 or 2
  Vec3 offsets = Vec3::cube(1);  // 1 or 2 along each axis; along z at most window_z
  std::int64_t rows = 0;         // of an output
  std::int64_t positions = 0;    // of such a row
  float* const* out = nullptr;   // [offsets.z][offsets.y][offsets.x]: row 0 of each
  std::int64_t out_step_y = 0;   // floats
  bool past_caches = false;      // all rows of out are aligned to 32 bytes and are not read soon
  const float* bias = nullptr;   // of each lane: writes max(largest + bias, least); null: the largest
  float least = 0;
};

// Returns whether a pooling has such windows and offsets.
[[nodiscard]] bool is_of_pairs(const PoolProblem& pool);

// Pools one plane; a voxel has `width` lanes, 8 or 16. The caller must call finish_pooling() (pool_voxels.hpp) at the
// end.
void pool_pairs(std::int64_t width, const PairedPlane& plane);

}  // namespace znni::cpu
