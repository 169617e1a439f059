// The inner loop of poolings over blocked rows: every voxel is loaded, reduced and stored in one pass, at the speed of
// memory. For windows of up to 4 voxels along x; pool_rows.hpp takes all.
#pragma once

#include <cstdint>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

inline constexpr std::int64_t most_pooled_along_x = 4;

// One row of positions of the window. Position p goes to voxel p / stride of out[p % stride], or nowhere where
// p % stride is not below `kept`.
struct PooledRow {
  const float* in = nullptr;  // the window's first voxel at position 0
  std::int64_t step_z = 0;    // floats
  std::int64_t step_y = 0;
  Vec3 window = Vec3::cube(2);
  std::int64_t positions = 0;
  float factor = 1.0F;  // on what was reduced
  std::int64_t stride = 1;
  std::int64_t kept = 1;
  float* const* out = nullptr;
  bool past_caches = false;  // out is aligned to 32 bytes, and nobody reads it soon
};

// `width` lanes of a voxel: 8 or 16. window.x is at most most_pooled_along_x.
void pool_voxels(PoolKind kind, std::int64_t width, const PooledRow& row);

// Makes stores past the caches visible to other workers.
void finish_pooling();

}  // namespace znni::cpu
