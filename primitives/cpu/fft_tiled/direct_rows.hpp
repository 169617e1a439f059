// The direct convolution. Lanes are output channels; each voxel of the input, planar or blocked, is broadcast to them.
// Every output adds its taps in the same order, wherever its row is cut.
#pragma once

#include <type_traits>

#include "primitives/cpu/fft_tiled/plane_transforms.hpp"

namespace znni::cpu::fft_tiled {

// Sums the taps of `count` neighbouring voxels of one block. The first voxel's first tap is at `in`; neighbours are
// `step` floats apart. `step` is a number or, so that it costs nothing, a constant's type.
template <class Isa, int count, class Step>
void sum_taps(const RowsTask& task, Step step, const float* in, const float* weights, float* line) {
  typename Isa::V sums[count]{};
  for (std::int64_t tap = 0; tap < task.tap_count; ++tap, weights += Isa::lanes) {
    const float* at = Isa::opaque(in + task.taps[tap]);
    const typename Isa::V weight = Isa::load(weights);
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i) sums[i] += Isa::broadcast(at[i * step]) * weight;
  }
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) Isa::store(line + i * Isa::lanes, sums[i]);
}

template <class Isa, class Step>
void sum_line(const RowsTask& task, Step step, const float* in, const float* weights, std::int64_t voxels,
              float* line) {
  const auto sum = [&](auto count, std::int64_t x) {
    sum_taps<Isa, count>(task, step, in + x * step, weights, line + x * Isa::lanes);
  };
  std::int64_t x = 0;
  for (; x + 8 <= voxels; x += 8) sum(std::integral_constant<int, 8>(), x);
  for (; x + 4 <= voxels; x += 4) sum(std::integral_constant<int, 4>(), x);
  for (; x < voxels; ++x) sum(std::integral_constant<int, 1>(), x);
}

template <class Isa>
void direct_rows(const RowsTask& task) {
  const Tiling& t = *task.tiling;
  const Strides steps = task.in->strides;
  const Vec3 stride = t.problem.stride;
  // Distance between the voxels that neighbouring outputs begin with.
  const std::int64_t apart = stride.x * (task.in->format.layout == Layout::planar ? 1 : Isa::lanes);
  const std::int64_t width = task.out->shape.n.x;
  PlaneSink sink{&t, task.out, task.residual, task.bias, {task.s, 0, 0}, task.z};
  for (std::int64_t y = task.first_row; y < task.end_row; ++y) {
    const float* row = task.in->data + task.s * steps.S + task.z * stride.z * steps.z + y * stride.y * steps.y;
    for (std::int64_t block = 0; block < t.out_blocks(); ++block) {
      const float* weights = task.weights + block * task.tap_count * Isa::lanes;
      for (std::int64_t x = 0; x < width; x += voxels_at_once) {
        const std::int64_t voxels = width - x < voxels_at_once ? width - x : voxels_at_once;
        sink.stack.x = x;
        float* const to = task.bias == nullptr ? row_of<Isa>(sink, *task.out, block, y) : task.scratch;
        const float* const from = row + x * apart;
        if (apart == 1) {
          sum_line<Isa>(task, std::integral_constant<int, 1>(), from, weights, voxels, to);
        } else if (apart == Isa::lanes) {
          sum_line<Isa>(task, std::integral_constant<int, Isa::lanes>(), from, weights, voxels, to);
        } else {
          sum_line<Isa>(task, apart, from, weights, voxels, to);
        }
        if (task.bias != nullptr) write_line<Isa>(sink, block, y, to, voxels);
      }
    }
  }
  Isa::fence();
}

}  // namespace znni::cpu::fft_tiled
