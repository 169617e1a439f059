// One column of a batch: transforms every tile's planes along z, multiplies them with the kernel spectra frequency by
// frequency, and transforms them back. All of it stays in the worker's own cache.
#pragma once

#include "primitives/cpu/fft_tiled/codelets.hpp"
#include "primitives/cpu/fft_tiled/packed_products.hpp"

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
  const std::int64_t frequency_step = frequency_floats(t);
  const std::int64_t tiles = t.tiles().z;
  const std::int64_t tile_step = (t.packs ? round_up(task.stacks, t.group()) : task.stacks) * t.stack_step();
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
    rows += tile_step;
  }
}

// Transforms the packed units of planes in the same way; [kz][tile][group][unit].
template <class Isa, bool to_rows>
void transform_units(const ColumnTask& task, float* rows) {
  const Tiling& t = *task.tiling;
  const Codelet along_z = c2c_codelet<Isa, false>(t.T.z);
  const std::int64_t units = to_rows ? t.in_units() : t.out_units();
  const std::int64_t frequency_step = frequency_floats(t);
  const std::int64_t groups = div_up(task.stacks, t.group());
  float* row = rows + column_rows(t) * t.stack_step();
  for (std::int64_t tile = 0; tile < t.tiles().z; ++tile) {
    float* planes = task.column + tile * t.m().z * t.plane_step() + t.units_offset();
    for (std::int64_t group = 0; group < groups; ++group, planes += t.group_step(), row += t.group_step()) {
      for (std::int64_t unit = 0; unit < units * t.block_step(); unit += t.block_step()) {
        float* const plane = planes + unit;
        float* const to = row + unit;
        fetch_planes<Isa>(t, plane + t.group_step());
        if constexpr (to_rows) {
          along_z(plane, plane + Isa::lanes, t.plane_step(), to, to + Isa::lanes, frequency_step);
        } else {
          along_z(to + Isa::lanes, to, frequency_step, plane + Isa::lanes, plane, t.plane_step());
        }
      }
    }
  }
}

// Does the same as multiply_rows_back() for a tiling with packed units.
template <class Isa>
void multiply_packed_column(const ColumnTask& task) {
  const Tiling& t = *task.tiling;
  const std::int64_t frequency_step = frequency_floats(t);
  float* const rows = task.scratch;
  transform_tiles<Isa, true>(task, rows);
  transform_units<Isa, true>(task, rows);
  const float* kernels = task.kernels;
  for (std::int64_t kz = 0; kz < t.T.z; ++kz) {
    const float* const next = kernels + (kz + 1 < t.T.z ? kernel_frequency_floats(t) : 0);
    multiply_packed_frequency<Isa>(t, rows + kz * frequency_step, t.tiles().z * div_up(task.stacks, t.group()), kernels,
                                   next, rows + t.T.z * frequency_step);
    kernels = next;
  }
  transform_tiles<Isa, false>(task, rows);
  transform_units<Isa, false>(task, rows);
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
  if constexpr (packs<Isa>) {
    if (t.packs) return multiply_packed_column<Isa>(task);
  }
  transform_tiles<Isa, true>(task, task.scratch);
  multiply_rows_back<Isa>(task, task.scratch, task.scratch + t.T.z * column_rows(t) * t.stack_step());
}

}  // namespace znni::cpu::fft_tiled
