// The functions of weights_tiles.hpp for one instruction set. The file that is compiled for it includes this one.
#pragma once

#include "primitives/cpu/fft_tiled/column.hpp"
#include "primitives/cpu/grad/weights_tiles.hpp"

namespace znni::cpu::fft_tiled {

// Input channels of a register block: both parts of the sums, the gradients and two values are held in registers.
template <class Isa>
inline constexpr int weights_rows = Isa::gemm_vectors > 2 ? 4 : 2;

// Transforms the planes of the output's gradient -> [kz][tile][block]. Each tile has its own m planes, zero beyond.
template <class Isa>
void transform_gradient(const WeightsColumnTask& task, float* rows, float* line) {
  const Tiling& t = *task.tiling;
  const std::int64_t pair = t.block_step();
  const std::int64_t plane_step = t.plane_step();
  const std::int64_t stack_step = t.stack_step();
  const std::int64_t frequency_step = column_rows(t) * stack_step;
  const std::int64_t tiles = t.tiles().z;
  const std::int64_t m = t.m().z;
  const Codelet along_z = c2c_codelet<Isa, false>(t.T.z);
  for (std::int64_t i = m * pair; i < t.T.z * pair; i += Isa::lanes) Isa::store(line + i, typename Isa::V{});
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    for (std::int64_t stack = 0; stack < task.stacks; ++stack, rows += stack_step) {
      const float* planes = task.output + tile * m * plane_step + stack * stack_step;
      for (std::int64_t b = 0; b < t.out_blocks() * pair; b += pair) {
        for (std::int64_t z = 0; z < m; ++z) {
          const float* const from = planes + z * plane_step + b;
          for (std::int64_t i = 0; i < pair; i += 16) Isa::prefetch(from + stack_step + i);
          Isa::store(line + z * pair, Isa::load(from));
          Isa::store(line + z * pair + Isa::lanes, Isa::load(from + Isa::lanes));
        }
        along_z(line, line + Isa::lanes, pair, rows + b, rows + b + Isa::lanes, frequency_step);
      }
    }
  }
}

// Computes to[i][block] = sum over tiles of x[tile][i] conj(g[tile][block]) for a register block.
template <class Isa, int rows, int vectors>
void multiply_weights(const float* x, const float* g, std::int64_t step, std::int64_t tiles, float* to,
                      std::int64_t row_step) {
  using V = typename Isa::V;
  V re[rows][vectors] = {};
  V im[rows][vectors] = {};
  for (std::int64_t tile = 0; tile < tiles; ++tile, x += step, g += step) {
    V g_re[vectors];
    V g_im[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      g_re[v] = Isa::load(g + v * 2 * Isa::lanes);
      g_im[v] = Isa::load(g + (v * 2 + 1) * Isa::lanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const V x_re = Isa::broadcast(x[r]);
      const V x_im = Isa::broadcast(x[r + Isa::lanes]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        re[r][v] += x_re * g_re[v];
        im[r][v] += x_im * g_re[v];
        re[r][v] += x_im * g_im[v];
        im[r][v] = im[r][v] - x_re * g_im[v];
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      Isa::store(to + r * row_step + v * 2 * Isa::lanes, re[r][v]);
      Isa::store(to + r * row_step + (v * 2 + 1) * Isa::lanes, im[r][v]);
    }
  }
}

// Selects the function for a group of output blocks.
using MultiplyWeights = void (*)(const float*, const float*, std::int64_t, std::int64_t, float*, std::int64_t);
template <class Isa, int vectors = Isa::gemm_vectors>
MultiplyWeights weights_function(std::int64_t wanted) {
  if constexpr (vectors > 1) {
    if (wanted < vectors) return weights_function<Isa, vectors - 1>(wanted);
  }
  return &multiply_weights<Isa, weights_rows<Isa>, vectors>;
}

// Multiplies one block of input channels, `channels` of them, with all output channels at one frequency.
template <class Isa>
void multiply_weights_frequency(const Tiling& t, std::int64_t channels, const float* x, const float* g,
                                std::int64_t tiles, float* to) {
  const std::int64_t pair = t.block_step();
  const std::int64_t row_step = t.out_blocks() * pair;
  for (std::int64_t i = 0; i < channels; i += weights_rows<Isa>) {
    for (std::int64_t index = 0; index < group_count(t.out_blocks(), Isa::gemm_vectors); ++index) {
      const BlockGroup group = block_group(t.out_blocks(), Isa::gemm_vectors, index);
      weights_function<Isa>(group.blocks)(x + i, g + group.first * pair, t.stack_step(), tiles,
                                          to + i * row_step + group.first * pair, row_step);
    }
  }
}

// Transforms `pairs` sums of all frequencies back along z and adds the kernels' planes to those of earlier batches. The
// planes of all columns are more than the caches hold, so they are written with non-temporal stores.
template <class Isa>
void add_planes(const WeightsColumnTask& task, std::int64_t pairs, const float* frequencies,
                std::int64_t frequency_step, float* line, float* to) {
  const Tiling& t = *task.tiling;
  const std::int64_t pair = t.block_step();
  const float scale = static_cast<float>(column_weight(t, task.column)) / static_cast<float>(t.T.z * t.T.y * t.T.x);
  const Codelet along_z = c2c_codelet<Isa, false>(t.T.z);
  for (std::int64_t i = 0; i < pairs; ++i, frequencies += pair) {
    along_z(frequencies + Isa::lanes, frequencies, frequency_step, line + Isa::lanes, line, pair);
    for (std::int64_t at = 0; at < t.problem.k.z * pair; at += Isa::lanes, to += Isa::lanes) {
      const typename Isa::V value = scale * Isa::load(line + at);
      Isa::stream(to, task.adds ? Isa::load(to) + value : value);
    }
  }
  Isa::fence();
}

// Multiplies a block of input channels after the other, so that its sums stay in the worker's cache with the tiles.
template <class Isa>
void weights_column(const WeightsColumnTask& task) {
  const Tiling& t = *task.tiling;
  const std::int64_t tile_step = column_rows(t) * t.stack_step();
  const std::int64_t tiles = task.stacks * t.tiles().z;
  const std::int64_t frequency_step = weights_frequency_step(t);
  float* const x = task.scratch;
  float* const g = x + t.T.z * tile_step;
  float* const frequencies = g + t.T.z * tile_step;
  float* const line = frequencies + t.T.z * frequency_step;
  const ColumnTask input{&t, task.stacks, task.input, task.kernels, x, task.products};
  transform_tiles<Isa, true>(input, x);
  transform_gradient<Isa>(task, g, line);
  for (std::int64_t first = 0; first < t.problem.in.f; first += Isa::lanes) {
    const std::int64_t left = t.problem.in.f - first;
    const std::int64_t channels = left < Isa::lanes ? left : Isa::lanes;
    for (std::int64_t kz = 0; kz < t.T.z; ++kz) {
      multiply_weights_frequency<Isa>(t, channels, x + kz * tile_step + first * 2, g + kz * tile_step, tiles,
                                      frequencies + kz * frequency_step);
    }
    add_planes<Isa>(task, channels * t.out_blocks(), frequencies, frequency_step, line,
                    task.sums + first * t.out_blocks() * t.problem.k.z * t.block_step());
  }
  if (task.kernels != nullptr) multiply_rows_back<Isa>(input, x, g);
}

// Prefetches all planes of one kx, whose columns lie far apart.
template <class Isa>
void fetch_sums(const Tiling& t, std::int64_t kx, const float* sums, std::int64_t step) {
  const std::int64_t count = kx == t.T.x / 2 ? t.T.y / 2 + 1 : t.T.y;
  const float* from = sums + t.first_column(kx) * step;
  for (std::int64_t ky = 0; ky < count; ++ky, from += step) {
    for (std::int64_t i = 0; i < t.problem.k.z * t.block_step(); i += 16) Isa::prefetch(from + i);
  }
}

// Transforms the planes of taps of one block back along y. A column's planes are read together.
template <class Isa>
void weights_planes(const WeightsInverseTask& task, std::int64_t block) {
  const Tiling& t = *task.tiling;
  const std::int64_t half = t.T.x / 2;
  const std::int64_t step = t.problem.in.f * t.out_blocks() * t.problem.k.z * t.block_step();
  const float* const sums = task.sums + (task.channel * t.out_blocks() + block) * t.problem.k.z * t.block_step();
  const Codelet real = c2r_codelet<Isa, false>(t.T.y);
  const Codelet complex = c2c_codelet<Isa, false>(t.T.y);
  for (std::int64_t kx = 0; kx <= half; ++kx) {
    if (kx < half) fetch_sums<Isa>(t, kx + 1, sums, step);
    const float* from = sums + t.first_column(kx) * step;
    float* to = task.scratch + kx * t.block_step();
    for (std::int64_t z = 0; z < t.problem.k.z; ++z, from += t.block_step(), to += plane_floats(t)) {
      if (kx == 0 || kx == half) {
        real(from, from + Isa::lanes, step, to, nullptr, row_floats(t));
      } else {
        complex(from + Isa::lanes, from, step, to + Isa::lanes, to, row_floats(t));
      }
    }
  }
}

// Copies taps [z][y][T.x][lane] of one block to its kernels, one output channel after the other.
template <class Isa>
void scatter_taps(const WeightsInverseTask& task, std::int64_t block, const float* taps) {
  const Tiling& t = *task.tiling;
  const Vec3 k = t.problem.k;
  const TensorView& kernels = *task.kernels;
  const std::int64_t left = t.problem.f_out - block * Isa::lanes;
  for (std::int64_t j = 0; j < Isa::lanes && j < left; ++j) {
    float* const kernel =
        kernels.data + (block * Isa::lanes + j) * kernels.strides.S + task.channel * kernels.strides.f;
    const float* from = taps + j;
    for (std::int64_t row = 0; row < k.z * k.y; ++row, from += t.T.x * Isa::lanes) {
      float* const to = kernel + row / k.y * kernels.strides.z + row % k.y * kernels.strides.y;
      for (std::int64_t x = 0; x < k.x; ++x) to[x * kernels.strides.x] = from[x * Isa::lanes];
    }
  }
}

template <class Isa>
void weights_inverse(const WeightsInverseTask& task) {
  const Tiling& t = *task.tiling;
  const Vec3 k = t.problem.k;
  const Codelet along_x = c2r_codelet<Isa, false>(t.T.x);
  float* const taps = task.scratch + k.z * plane_floats(t);
  for (std::int64_t block = 0; block < t.out_blocks(); ++block) {
    weights_planes<Isa>(task, block);
    float* line = taps;
    for (std::int64_t row = 0; row < k.z * k.y; ++row, line += t.T.x * Isa::lanes) {
      const float* const from = task.scratch + row / k.y * plane_floats(t) + row % k.y * row_floats(t);
      along_x(from, from + Isa::lanes, t.block_step(), line, nullptr, Isa::lanes);
    }
    scatter_taps<Isa>(task, block, taps);
  }
}

template <class Isa>
constexpr WeightsKernels make_weights_kernels() {
  return {&weights_column<Isa>, &weights_inverse<Isa>};
}

}  // namespace znni::cpu::fft_tiled
