// The complex matrix product of one frequency: rows are tiles, K input images, lanes output images.
//
// Three real products instead of four (Gauss):  with t = (Ar + Ai) Wr,
//   Re = t - Ai (Wr + Wi),   Im = t + Ar (Wi - Wr).
#pragma once

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// What is wanted in the caches next: asked for bit by bit while something else is computed.
struct Ahead {
  const char* at = nullptr;
  std::ptrdiff_t step = 0;  // bytes for each time round a loop
};

// acc[r][v] += sum over i of a[i][r] w[i][v]; a is [i / lanes][rows][i % lanes], w [i][vectors][lane].
template <class Isa, int rows, int vectors>
inline void accumulate(const float* a, const float* w, std::int64_t images, typename Isa::V (&acc)[rows][vectors],
                       Ahead& ahead) {
  const char* next = ahead.at;
  for (; images > 0; images -= Isa::lanes, a += rows * Isa::lanes) {
    const std::int64_t here = images < Isa::lanes ? images : Isa::lanes;
    for (std::int64_t i = 0; i < here; ++i, w += vectors * Isa::lanes) {
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const typename Isa::V value = Isa::all(a[r * Isa::lanes + i]);
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
  const float* operands = nullptr;  // Ar + Ai, then Ar, then Ai: each [i / lanes][rows][i % lanes]
  std::int64_t operand = 0;         // floats of one of them
  const float* planes = nullptr;    // of the kernels: Wr, then Wi - Wr, then -(Wr + Wi)
  std::int64_t plane = 0;           // floats of one of them, all groups
  std::int64_t images = 0;
  float* out = nullptr;  // row 0, first block of the group, re | im
  std::int64_t row_step = 0;
};

template <class Isa, int rows, int vectors>
void multiply_block(const RowBlock& block, Ahead& ahead) {
  using V = typename Isa::V;
  V common[rows][vectors] = {};
  accumulate<Isa, rows, vectors>(block.operands, block.planes, block.images, common, ahead);
  for (int part = 1; part >= 0; --part) {  // the imaginary part, then the real one
    V acc[rows][vectors];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) acc[r][v] = common[r][v];
    }
    const int operand = 2 - part;
    accumulate<Isa, rows, vectors>(block.operands + operand * block.operand, block.planes + operand * block.plane,
                                   block.images, acc, ahead);
    float* out = block.out + part * Isa::lanes;
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) Isa::store(out + r * block.row_step + v * 2 * Isa::lanes, acc[r][v]);
    }
  }
}

// The function for a register block of `rows` rows, an even number up to Isa::gemm_rows, and `vectors` output blocks.
using MultiplyBlock = void (*)(const RowBlock&, Ahead&);
template <class Isa, int vectors, int rows = Isa::gemm_rows>
MultiplyBlock multiply_rows(std::int64_t wanted) {
  static_assert(rows % 2 == 0);
  if constexpr (rows > 2) {
    if (wanted < rows) return multiply_rows<Isa, vectors, rows - 2>(wanted);
  }
  return &multiply_block<Isa, rows, vectors>;
}
template <class Isa, int vectors = Isa::gemm_vectors>
MultiplyBlock multiply_function(std::int64_t rows, std::int64_t wanted) {
  if constexpr (vectors > 1) {
    if (wanted < vectors) return multiply_function<Isa, vectors - 1>(rows, wanted);
  }
  return multiply_rows<Isa, vectors>(rows);
}

// Rows of A, copied so that they may be overwritten.
template <class Isa>
void copy_rows(const float* from, std::int64_t row_step, std::int64_t rows, std::int64_t blocks, float* to,
               std::int64_t operand) {
  for (std::int64_t b = 0; b < blocks; ++b) {
    for (std::int64_t r = 0; r < rows; ++r, to += Isa::lanes) {
      const float* pair = from + r * row_step + b * 2 * Isa::lanes;
      const typename Isa::V re = Isa::load(pair);
      const typename Isa::V im = Isa::load(pair + Isa::lanes);
      Isa::store(to, re + im);
      Isa::store(to + operand, re);
      Isa::store(to + 2 * operand, im);
    }
  }
}

// The planes of one frequency's kernels that the products read, group after group.
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

// All rows of one frequency, in place: a row's input images are replaced by its output images. Rows are cut into
// register blocks of an even number, as equal as they can be; an odd last one has a neighbour of no meaning. Meanwhile
// the kernels of the next frequency, `next`, are fetched.
template <class Isa>
void multiply_frequency(const Tiling& t, float* rows, std::int64_t count, const float* kernels, const float* next,
                        float* scratch) {
  const std::int64_t images = t.problem.in.f;
  const std::int64_t plane = images * t.out_blocks() * Isa::lanes;
  const std::int64_t operand = t.in_blocks() * Isa::gemm_rows * Isa::lanes;
  float* const copies = scratch + 3 * plane;
  kernel_planes<Isa>(kernels, images * t.out_blocks(), scratch, plane);
  const std::int64_t groups = group_count(t.out_blocks(), Isa::gemm_vectors);
  const std::int64_t twos = (count + 1) / 2;
  const std::int64_t row_blocks = group_count(twos, Isa::gemm_rows / 2);
  Ahead ahead{reinterpret_cast<const char*>(next), 8 * plane / (3 * images * groups * row_blocks) + 1};
  for (std::int64_t index = 0; index < row_blocks; ++index) {
    const std::int64_t here = 2 * block_group(twos, Isa::gemm_rows / 2, index).blocks;
    copy_rows<Isa>(rows, t.stack_step(), here, t.in_blocks(), copies, operand);
    for (std::int64_t g = 0; g < groups; ++g) {
      const BlockGroup group = block_group(t.out_blocks(), Isa::gemm_vectors, g);
      const RowBlock block{copies,        operand, scratch + group.first * images * Isa::lanes,
                           plane,         images,  rows + group.first * t.block_step(),
                           t.stack_step()};
      multiply_function<Isa>(here, group.blocks)(block, ahead);
    }
    rows += here * t.stack_step();
  }
}

}  // namespace znni::cpu::fft_tiled
