// The inner loops of max poolings over blocked rows whose windows are two voxels along y and x, one or two along z, and
// as far apart as they are long: 2x2x2 and 1x2x2, what nets mostly have. The general ones are in pool_voxels.hpp.
// Windows of neighbouring offsets share all but the voxels at their sides, so all offsets are taken at once: each voxel
// is loaded once for every pair of rows that needs it, and what is reduced stays in registers.
#pragma once

#include <cstdint>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

// Windows of one plane of the outputs: window (y, x) of an offset begins at row 2 y, voxel 2 x behind the offset.
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
  bool past_caches = false;      // all rows of out are aligned to 32 bytes, and nobody reads them soon
  const float* bias = nullptr;   // of each lane: with it max(largest + bias, least) is written, the largest without
  float least = 0;
};

// Whether a pooling has such windows and offsets.
[[nodiscard]] bool is_of_pairs(const PoolProblem& pool);

// `width` lanes of a voxel: 8 or 16. The caller ends with finish_pooling() (pool_voxels.hpp).
void pool_pairs(std::int64_t width, const PairedPlane& plane);

}  // namespace znni::cpu
