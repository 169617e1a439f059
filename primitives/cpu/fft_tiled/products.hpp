// The complex matrix product of one frequency: rows are tiles, K is input channels, lanes are output channels. There
// are two forms:
//
// Three real products (Gauss): with t = (Ar + Ai) Wr,
//   Re = t - Ai (Wr + Wi),   Im = t + Ar (Wi - Wr).
// Four real products, with the kernels in their stored form. They need more arithmetic, but no preparation for each
// pass over the kernels. A register block holds both parts of half as many rows, so that a load serves two
// multiplications.
#pragma once

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// Memory that is needed in the caches next; it is prefetched in small steps during other computation.
struct Ahead {
  const char* at = nullptr;
  std::ptrdiff_t step = 0;  // bytes per loop iteration
};

// Computes acc[r][v] += sum over i of a[i][r] w[i][v]; a is [i / lanes][rows][i % lanes], w [i][vectors][lane].
template <class Isa, int rows, int vectors>
inline void accumulate(const float* a, const float* w, std::int64_t channels, typename Isa::V (&acc)[rows][vectors],
                       Ahead& ahead) {
  const char* next = ahead.at;
  for (; channels > 0; channels -= Isa::lanes, a += rows * Isa::lanes) {
    const std::int64_t here = channels < Isa::lanes ? channels : Isa::lanes;
    for (std::int64_t i = 0; i < here; ++i, w += vectors * Isa::lanes) {
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const typename Isa::V value = Isa::broadcast(a[r * Isa::lanes + i]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) acc[r][v] += value * Isa::load(w + v * Isa::lanes);
      }
      Isa::prefetch(next);
      next += ahead.step;
    }
  }
  ahead.at = next;
}

// The rows of one register block and one group of output blocks.
struct RowBlock {
  const float* operands = nullptr;  // Ar, Ai and, for three products, Ar + Ai: each [i / lanes][rows][i % lanes]
  std::int64_t operand = 0;         // floats of one of them
  const float* kernels = nullptr;   // [i][vectors][re | im][lane]; for three products Wr, Wi - Wr, -(Wr + Wi)
  std::int64_t plane = 0;           // floats of one of these three, all groups
  std::int64_t channels = 0;
  float* out = nullptr;  // row 0, first block of the group, re | im
  std::int64_t row_step = 0;
};

template <class Isa, int rows, int vectors>
void multiply_by_three(const RowBlock& block, Ahead& ahead) {
  using V = typename Isa::V;
  V common[rows][vectors] = {};
  accumulate<Isa, rows, vectors>(block.operands + 2 * block.operand, block.kernels, block.channels, common, ahead);
  for (int part = 1; part >= 0; --part) {  // the imaginary part, then the real one
    V acc[rows][vectors];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) acc[r][v] = common[r][v];
    }
    accumulate<Isa, rows, vectors>(block.operands + (1 - part) * block.operand,
                                   block.kernels + (2 - part) * block.plane, block.channels, acc, ahead);
    float* out = block.out + part * Isa::lanes;
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) Isa::store(out + r * block.row_step + v * 2 * Isa::lanes, acc[r][v]);
    }
  }
}

template <class Isa, int rows, int vectors>
void multiply_by_four(const RowBlock& block, Ahead& ahead) {
  using V = typename Isa::V;
  V re[rows][vectors] = {};
  V im[rows][vectors] = {};
  const float* a = block.operands;
  const float* w = block.kernels;
  const char* next = ahead.at;
  for (std::int64_t channels = block.channels; channels > 0; channels -= Isa::lanes, a += rows * Isa::lanes) {
    const std::int64_t here = channels < Isa::lanes ? channels : Isa::lanes;
    for (std::int64_t i = 0; i < here; ++i, w += vectors * 2 * Isa::lanes) {
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const V a_re = Isa::broadcast(a[r * Isa::lanes + i]);
        const V a_im = Isa::broadcast(a[block.operand + r * Isa::lanes + i]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
          const V w_re = Isa::load(w + v * 2 * Isa::lanes);
          const V w_im = Isa::load(w + (v * 2 + 1) * Isa::lanes);
          re[r][v] += a_re * w_re;
          im[r][v] += a_re * w_im;
          re[r][v] = re[r][v] - a_im * w_im;
          im[r][v] += a_im * w_re;
        }
      }
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v, next += ahead.step) Isa::prefetch(next);
    }
  }
  ahead.at = next;
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      Isa::store(block.out + r * block.row_step + v * 2 * Isa::lanes, re[r][v]);
      Isa::store(block.out + r * block.row_step + (v * 2 + 1) * Isa::lanes, im[r][v]);
    }
  }
}

// Returns the maximum number of rows of a register block of `vectors` output blocks; even.
template <class Isa>
constexpr int max_rows(Products products, std::int64_t vectors) {
  return products == Products::three || vectors == 1 ? Isa::gemm_rows : Isa::gemm_rows / 4 * 2;
}

// Function that computes a register block of `rows` rows, an even number up to max_rows(), and `vectors` output
// blocks.
using MultiplyBlock = void (*)(const RowBlock&, Ahead&);
template <class Isa, Products products, int vectors, int rows = max_rows<Isa>(products, vectors)>
MultiplyBlock multiply_rows(std::int64_t wanted) {
  static_assert(rows % 2 == 0);
  if constexpr (rows > 2) {
    if (wanted < rows) return multiply_rows<Isa, products, vectors, rows - 2>(wanted);
  }
  return products == Products::three ? &multiply_by_three<Isa, rows, vectors> : &multiply_by_four<Isa, rows, vectors>;
}
template <class Isa, Products products, int vectors = Isa::gemm_vectors>
MultiplyBlock multiply_function(std::int64_t rows, std::int64_t wanted) {
  if constexpr (vectors > 1) {
    if (wanted < vectors) return multiply_function<Isa, products, vectors - 1>(rows, wanted);
  }
  return multiply_rows<Isa, products, vectors>(rows);
}

// Copies rows of A, so that the originals may be overwritten. For three products also stores the sums of their parts.
template <class Isa, Products products>
void copy_rows(const float* from, std::int64_t row_step, std::int64_t rows, std::int64_t blocks, float* to,
               std::int64_t operand) {
  for (std::int64_t b = 0; b < blocks; ++b) {
    for (std::int64_t r = 0; r < rows; ++r, to += Isa::lanes) {
      const float* pair = from + r * row_step + b * 2 * Isa::lanes;
      const typename Isa::V re = Isa::load(pair);
      const typename Isa::V im = Isa::load(pair + Isa::lanes);
      Isa::store(to, re);
      Isa::store(to + operand, im);
      if constexpr (products == Products::three) Isa::store(to + 2 * operand, re + im);
    }
  }
}

// Computes the planes of one frequency's kernels that three products read, group after group.
template <class Isa>
void kernel_planes(const float* kernels, std::int64_t pairs, float* planes, std::int64_t plane) {
  for (std::int64_t i = 0; i < pairs; ++i, kernels += 2 * Isa::lanes, planes += Isa::lanes) {
    const typename Isa::V re = Isa::load(kernels);
    const typename Isa::V im = Isa::load(kernels + Isa::lanes);
    Isa::store(planes, re);
    Isa::store(planes + plane, im - re);
    Isa::store(planes + 2 * plane, -(re + im));
  }
}

// Multiplies all rows of one frequency, in place: a row's input channels are replaced by its output channels. Rows are
// cut into register blocks with an even number of rows, as equal as possible; an odd last row is paired with an unused
// one. Meanwhile the kernels of the next frequency, `next`, are prefetched.
template <class Isa, Products products>
void multiply_frequency(const Tiling& t, float* rows, std::int64_t count, const float* kernels, const float* next,
                        float* scratch) {
  constexpr bool three = products == Products::three;
  const std::int64_t channels = t.problem.in.f;
  const std::int64_t plane = channels * t.out_blocks() * Isa::lanes;
  const std::int64_t operand = t.in_blocks() * Isa::gemm_rows * Isa::lanes;
  float* const copies = three ? scratch + 3 * plane : scratch;
  if constexpr (three) {
    kernel_planes<Isa>(kernels, channels * t.out_blocks(), scratch, plane);
    kernels = scratch;
  }
  const std::int64_t groups = group_count(t.out_blocks(), Isa::gemm_vectors);
  const std::int64_t twos = (count + 1) / 2;
  const std::int64_t most = max_rows<Isa>(products, block_group(t.out_blocks(), Isa::gemm_vectors, 0).blocks) / 2;
  const std::int64_t row_blocks = group_count(twos, most);
  const std::int64_t fetches = channels * row_blocks * (three ? 3 * groups : t.out_blocks());
  Ahead ahead{reinterpret_cast<const char*>(next), 8 * plane / fetches + 1};
  for (std::int64_t index = 0; index < row_blocks; ++index) {
    const std::int64_t here = 2 * block_group(twos, most, index).blocks;
    copy_rows<Isa, products>(rows, t.stack_step(), here, t.in_blocks(), copies, operand);
    for (std::int64_t g = 0; g < groups; ++g) {
      const BlockGroup group = block_group(t.out_blocks(), Isa::gemm_vectors, g);
      const std::int64_t pairs = group.first * channels;
      const RowBlock block{copies,        operand,  kernels + pairs * (three ? Isa::lanes : 2 * Isa::lanes),
                           plane,         channels, rows + group.first * t.block_step(),
                           t.stack_step()};
      multiply_function<Isa, products>(here, group.blocks)(block, ahead);
    }
    rows += here * t.stack_step();
  }
}

}  // namespace znni::cpu::fft_tiled
