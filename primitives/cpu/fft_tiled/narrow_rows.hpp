// The direct convolution of blocks to a few output channels. Lanes are input channels; they are added up at the end.
// Every output adds its taps in the same order, wherever its row is cut.
#pragma once

#include <type_traits>
#include <utility>

#include "primitives/cpu/fft_tiled/codelet.hpp"
#include "primitives/cpu/fft_tiled/plane_transforms.hpp"

namespace znni::cpu::fft_tiled {

// Adds up pairs of lanes of two vectors that hold `count` sums each, in neighbouring lanes. The result holds all sums
// in half as many lanes each, those of `a` first.
template <class Isa, int count, int... lane>
inline __attribute__((always_inline)) typename Isa::V fold(typename Isa::V a, typename Isa::V b,
                                                           std::integer_sequence<int, lane...>) {
  constexpr int wide = static_cast<int>(Isa::lanes) / count;
  constexpr int narrow = wide / 2;
  return __builtin_shufflevector(a, b, (lane / narrow * wide + lane % narrow)...) +
         __builtin_shufflevector(a, b, (lane / narrow * wide + lane % narrow + narrow)...);
}

// Folds `count` vectors, a power of two up to the lanes, to one: the sum of vector i is in lanes / count lanes from
// i lanes / count on.
template <class Isa, int count>
inline __attribute__((always_inline)) typename Isa::V folded(const typename Isa::V* from) {
  if constexpr (count == 1) {
    return *from;
  } else {
    return fold<Isa, count / 2>(folded<Isa, count / 2>(from), folded<Isa, count / 2>(from + count / 2),
                                std::make_integer_sequence<int, static_cast<int>(Isa::lanes)>());
  }
}

// Returns the vector of one register whose lanes have the same sum.
template <class Isa>
inline __attribute__((always_inline)) typename Register<Isa>::V one_register(typename Isa::V value) {
  if constexpr (Register<Isa>::lanes == Isa::lanes) {
    return value;
  } else {
    return value.low + value.high;
  }
}

// Adds up the lanes of `count` vectors of one output, and writes each sum to a voxel of the line.
template <class Isa, int count>
inline __attribute__((always_inline)) void write_sums(const typename Isa::V* sums, float* line) {
  using Reg = Register<Isa>;
  constexpr int parts = static_cast<int>(Reg::lanes) / count;
  typename Reg::V registers[count];
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) registers[i] = one_register<Isa>(sums[i]);
  float totals[Reg::lanes];
  Reg::store(totals, folded<Reg, count>(registers));
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) {
    float total = totals[i * parts];
    for (int part = 1; part < parts; ++part) total += totals[i * parts + part];
    line[i * Isa::lanes] = total;
  }
}

// Sums the taps of `count` neighbouring voxels, `step` floats apart; the first tap of the first is at `in`.
template <class Isa, int outputs, int count>
void sum_narrow(const RowsTask& task, std::int64_t step, const float* in, float* line) {
  typename Isa::V sums[outputs][count]{};
  const float* weights = task.weights;
  for (std::int64_t tap = 0; tap < task.tap_count; ++tap, weights += outputs * Isa::lanes) {
    const float* at = in + task.taps[tap];
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i) {
      const typename Isa::V voxel = Isa::load(at + i * step);
#pragma GCC unroll 4
      for (int j = 0; j < outputs; ++j) sums[j][i] += voxel * Isa::load(weights + j * Isa::lanes);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < outputs; ++j) write_sums<Isa, count>(sums[j], line + j);
}

// Returns the voxels whose sums are held in registers together.
template <class Isa>
constexpr int narrow_voxels(int outputs) {
  int voxels = Register<Isa>::lanes < 8 ? static_cast<int>(Register<Isa>::lanes) : 8;
  while (voxels * outputs > Isa::gemm_rows * Isa::gemm_vectors) voxels /= 2;
  return voxels;
}

template <class Isa, int outputs>
void narrow_line(const RowsTask& task, std::int64_t step, const float* in, std::int64_t voxels, float* line) {
  constexpr int at_once = narrow_voxels<Isa>(outputs);
  std::int64_t x = 0;
  for (; x + at_once <= voxels; x += at_once) {
    sum_narrow<Isa, outputs, at_once>(task, step, in + x * step, line + x * Isa::lanes);
  }
  for (; x < voxels; ++x) sum_narrow<Isa, outputs, 1>(task, step, in + x * step, line + x * Isa::lanes);
}

template <class Isa>
void narrow_rows(const RowsTask& task) {
  using Line = void (*)(const RowsTask&, std::int64_t, const float*, std::int64_t, float*);
  static_assert(max_narrow_outputs == 4);
  constexpr Line lines[] = {&narrow_line<Isa, 1>, &narrow_line<Isa, 2>, &narrow_line<Isa, 3>, &narrow_line<Isa, 4>};
  const Tiling& t = *task.tiling;
  const Line line = lines[t.problem.f_out - 1];
  const Strides steps = task.in->strides;
  const Vec3 stride = t.problem.stride;
  const std::int64_t apart = stride.x * Isa::lanes;
  const std::int64_t width = task.out->shape.n.x;
  PlaneSink sink{&t, task.out, task.residual, task.bias, {task.s, 0, 0}, task.z};
  // Padding lanes stay zero: they have no bias, and write_line() clears what an activation makes of them.
  for (std::int64_t i = 0; i < voxels_at_once * Isa::lanes; i += Isa::lanes) {
    Isa::store(task.scratch + i, typename Isa::V{});
  }
  for (std::int64_t y = task.first_row; y < task.end_row; ++y) {
    const float* row = task.in->data + task.s * steps.S + task.z * stride.z * steps.z + y * stride.y * steps.y;
    for (std::int64_t x = 0; x < width; x += voxels_at_once) {
      const std::int64_t voxels = width - x < voxels_at_once ? width - x : voxels_at_once;
      sink.stack.x = x;
      line(task, apart, row + x * apart, voxels, task.scratch);
      write_line<Isa>(sink, 0, y, task.scratch, voxels);
    }
  }
  Isa::fence();
}

}  // namespace znni::cpu::fft_tiled
