// One column of a batch: transforms every tile's planes along z, multiplies them with the kernel spectra frequency by
// frequency, and transforms them back. All of it stays in the worker's own cache.
#pragma once

#include "primitives/cpu/fft_tiled/codelets.hpp"
#include "primitives/cpu/fft_tiled/products.hpp"

namespace znni::cpu::fft_tiled {

// Prefetches one block of a tile's planes, which lie far apart.
template <class Isa>
void fetch_planes(const Tiling& t, const float* plane) {
  for (std::int64_t z = 0; z < t.T.z; ++z, plane += t.plane_step()) {
    for (std::int64_t i = 0; i < 2 * Isa::lanes; i += 16) Isa::prefetch(plane + i);
  }
}

// Transforms planes -> [kz][tile][block] if `to_rows`, otherwise back. On the way back, a tile overwrites planes that
// the next tile has already read. Only the planes beyond its own m are lost, and the next tile writes those again.
template <class Isa, bool to_rows>
void transform_tiles(const ColumnTask& task, float* rows) {
  const Tiling& t = *task.tiling;
  const Codelet along_z = c2c_codelet<Isa, false>(t.T.z);
  const std::int64_t blocks = to_rows ? t.in_blocks() : t.out_blocks();
  const std::int64_t frequency_step = column_rows(t) * t.stack_step();
  const std::int64_t tiles = t.tiles().z;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    float* planes = task.column + tile * t.m().z * t.plane_step();
    for (std::int64_t i = 0; i < task.stacks * t.stack_step(); i += t.stack_step()) {
      for (std::int64_t b = 0; b < blocks * t.block_step(); b += t.block_step()) {
        float* plane = planes + i + b;
        float* row = rows + i + b;
        fetch_planes<Isa>(t, plane + t.stack_step());
        if constexpr (to_rows) {
          along_z(plane, plane + Isa::lanes, t.plane_step(), row, row + Isa::lanes, frequency_step);
        } else {
          along_z(row + Isa::lanes, row, frequency_step, plane + Isa::lanes, plane, t.plane_step());
        }
      }
    }
    rows += task.stacks * t.stack_step();
  }
}

// Multiplies the frequencies of all tiles, which are overwritten, and transforms them back.
template <class Isa>
void multiply_rows_back(const ColumnTask& task, float* rows, float* scratch) {
  const Tiling& t = *task.tiling;
  const std::int64_t frequency_step = column_rows(t) * t.stack_step();
  const auto multiply = task.products == Products::three ? &multiply_frequency<Isa, Products::three>
                                                         : &multiply_frequency<Isa, Products::four>;
  const float* kernels = task.kernels;
  for (std::int64_t kz = 0; kz < t.T.z; ++kz) {
    const float* const next = kernels + (kz + 1 < t.T.z ? kernel_frequency_floats(t) : 0);
    multiply(t, rows + kz * frequency_step, task.stacks * t.tiles().z, kernels, next, scratch);
    kernels = next;
  }
  transform_tiles<Isa, false>(task, rows);
}

template <class Isa>
void multiply_column(const ColumnTask& task) {
  const Tiling& t = *task.tiling;
  transform_tiles<Isa, true>(task, task.scratch);
  multiply_rows_back<Isa>(task, task.scratch, task.scratch + t.T.z * column_rows(t) * t.stack_step());
}

}  // namespace znni::cpu::fft_tiled
