// One row of a level of a stack: a pooling whose rows come one after the other. It is separable: along x the row is
// pooled itself, along z with such rows of earlier planes, along y with what that gave for earlier rows.
#pragma once

#include <cstdint>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

// Floats behind a row that may be read and written, at most.
inline constexpr std::int64_t stack_lanes = 16;

struct StackRow {
  const float* from = nullptr;           // the row, with its padding along x
  std::int64_t step = 1;                 // floats from voxel to voxel
  std::int64_t window = 1;               // along x
  const float* const* planes = nullptr;  // rows of earlier planes, pooled along x
  std::int64_t plane_count = 0;
  const float* const* rows = nullptr;  // earlier rows, pooled along x and z
  std::int64_t row_count = 0;
  float* plane_to = nullptr;     // the row, pooled along x; may be one of `planes`
  float* row_to = nullptr;       // the row, pooled along x and z; may be one of `rows`
  float* out = nullptr;          // the larger of `floor` and scale * pooled + shift
  const float* scale = nullptr;  // stack_lanes numbers, for which averages are sums
  const float* shift = nullptr;
  float floor = 0;
  std::int64_t floats = 0;  // of the output; whole vectors are written
};

using PoolStackRow = void (*)(const StackRow& row);

// What is compiled for each instruction set.
struct StackKernels {
  std::int64_t lanes;  // of a vector
  // Returns what pools rows over windows of this extent, which their counts say as well.
  PoolStackRow (*pool)(PoolKind kind, Vec3 window);
  void (*activate)(Activation activation, float* values, std::int64_t count);
};

// Returns the kernels for registers of `simd_floats` floats.
[[nodiscard]] const StackKernels& stack_kernels(int simd_floats);

}  // namespace znni::cpu
