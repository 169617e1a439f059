// The product of one frequency of a tiling with packed units (tiling.hpp), in Gauss's form (products.hpp). Rows come in
// groups: 4 stacks of one tile. The operands of some groups are copied as slabs: 4 channels x 4 rows, the rows of a
// channel side by side. A product of blocks takes single floats of a slab, as other products do. One of units takes the
// 4 rows of a channel for every lane of a unit; so 4 rows are one vector.
#pragma once

#include "primitives/cpu/fft_tiled/products.hpp"

namespace znni::cpu::fft_tiled {

// The input channels of a slab: of each block those of slab k are k, k + 4, k + 8, k + 12, of a unit they follow each
// other. Kernels of channels beyond the last are zero.
struct Slab {
  std::int64_t first = 0;
  std::int64_t step = 1;
};
inline __attribute__((always_inline)) Slab slab_of(const Tiling& t, std::int64_t index) {
  const std::int64_t blocks = t.in_blocks();
  const bool own = index < 4 * blocks;
  const std::int64_t first = own ? index / 4 * t.lanes + index % 4 : blocks * t.lanes + (index - 4 * blocks) * 4;
  return {first, own ? 4 : 1};
}
inline __attribute__((always_inline)) std::int64_t slabs_of(const Tiling& t) {
  return 4 * t.in_blocks() + t.in_units();
}

// Places of one frequency.
template <class Isa>
struct PackedFrequency {
  const Tiling* tiling = nullptr;
  float* rows = nullptr;   // of stacks, with their blocks
  float* units = nullptr;  // of groups
  float* planes =
      nullptr;  // Wr, Wi - Wr, -(Wr + Wi): each [group of blocks][channel][block][lane], channels in slabs' order
  std::int64_t plane = 0;   // floats of one of them
  float* spread = nullptr;  // the same for units: [channel][unit][lane][stack]
  std::int64_t spread_plane = 0;
  float* slabs = nullptr;  // Ar, Ai, Ar + Ai: each [slab][group][channel][row]
};

// Copies the operands of `groups` groups, the first of which is `first`.
template <class Isa>
void copy_slabs(const PackedFrequency<Isa>& at, std::int64_t first, std::int64_t groups) {
  using V = typename Isa::V;
  const Tiling& t = *at.tiling;
  const std::int64_t blocks = t.in_blocks();
  const std::int64_t operand = slabs_of(t) * groups * Isa::lanes;
  const std::int64_t slab_step = groups * Isa::lanes;
  for (std::int64_t g = 0; g < groups; ++g) {
    const float* const row = at.rows + (first + g) * 4 * t.stack_step();
    float* to = at.slabs + g * Isa::lanes;
    for (std::int64_t b = 0; b < blocks; ++b, to += 4 * slab_step) {
      V re[4];
      V im[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        const float* const pair = row + r * t.stack_step() + b * t.block_step();
        re[r] = Isa::load(pair);
        im[r] = Isa::load(pair + Isa::lanes);
      }
      Isa::transpose(re);
      Isa::transpose(im);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        Isa::store(to + k * slab_step, re[k]);
        Isa::store(to + k * slab_step + operand, im[k]);
        Isa::store(to + k * slab_step + 2 * operand, re[k] + im[k]);
      }
    }
    const float* unit = at.units + (first + g) * t.group_step();
    for (std::int64_t u = 0; u < t.in_units(); ++u, to += slab_step, unit += t.block_step()) {
      const V re = Isa::turned(Isa::load(unit));
      const V im = Isa::turned(Isa::load(unit + Isa::lanes));
      Isa::store(to, re);
      Isa::store(to + operand, im);
      Isa::store(to + 2 * operand, re + im);
    }
  }
}

// Writes the three planes of one vector of kernels.
template <class Isa>
inline __attribute__((always_inline)) void write_planes(typename Isa::V re, typename Isa::V im, float* to,
                                                        std::int64_t plane) {
  Isa::store(to, re);
  Isa::store(to + plane, im - re);
  Isa::store(to + 2 * plane, -(re + im));
}

// Writes the planes of one input channel's kernels to a group of blocks.
template <class Isa>
inline __attribute__((always_inline)) void write_block_planes(const PackedFrequency<Isa>& at, const float* kernels,
                                                              const BlockGroup& group, std::int64_t channel,
                                                              float* to) {
  using V = typename Isa::V;
  const std::int64_t channels = at.tiling->problem.in.f;
  const float* pair = kernels + (group.first * channels + channel * group.blocks) * 2 * Isa::lanes;
  for (std::int64_t b = 0; b < group.blocks; ++b, pair += 2 * Isa::lanes, to += Isa::lanes) {
    const bool none = channel >= channels;
    write_planes<Isa>(none ? V{} : Isa::load(pair), none ? V{} : Isa::load(pair + Isa::lanes), to, at.plane);
  }
}

// Writes the planes of one input channel's kernels to all units.
template <class Isa>
inline __attribute__((always_inline)) void write_unit_planes(const PackedFrequency<Isa>& at, const float* kernels,
                                                             std::int64_t channel, float* to) {
  using V = typename Isa::V;
  const Tiling& t = *at.tiling;
  for (std::int64_t u = 0; u < t.out_units(); ++u, to += Isa::lanes) {
    const bool none = channel >= t.problem.in.f;
    const float* const quad = kernels + (u * unit_kernels(t) + channel / 4) * 2 * Isa::lanes + channel % 4 * 4;
    write_planes<Isa>(none ? V{} : Isa::spread(quad), none ? V{} : Isa::spread(quad + Isa::lanes), to, at.spread_plane);
  }
}

// Computes the planes of one frequency's kernels, the channels in the order of slabs.
template <class Isa>
void packed_planes(const PackedFrequency<Isa>& at, const float* kernels) {
  const Tiling& t = *at.tiling;
  const std::int64_t slabs = slabs_of(t);
  float* to = at.planes;
  for (std::int64_t g = 0; g < group_count(t.out_blocks(), Isa::gemm_vectors); ++g) {
    const BlockGroup group = block_group(t.out_blocks(), Isa::gemm_vectors, g);
    for (std::int64_t s = 0; s < slabs; ++s) {
      const Slab slab = slab_of(t, s);
      for (std::int64_t i = 0; i < 4; ++i, to += group.blocks * Isa::lanes) {
        write_block_planes<Isa>(at, kernels, group, slab.first + i * slab.step, to);
      }
    }
  }
  if (t.out_units() == 0) return;
  const float* const units = kernels + t.problem.in.f * t.out_blocks() * 2 * Isa::lanes;
  to = at.spread;
  for (std::int64_t s = 0; s < slabs; ++s) {
    const Slab slab = slab_of(t, s);
    for (std::int64_t i = 0; i < 4; ++i, to += t.out_units() * Isa::lanes) {
      write_unit_planes<Isa>(at, units, slab.first + i * slab.step, to);
    }
  }
}

// A product of some rows by some vectors of kernels.
struct SlabProduct {
  const float* slabs = nullptr;  // from the first row on
  std::int64_t slab_step = 0;
  std::int64_t operand = 0;
  const float* kernels = nullptr;
  std::int64_t plane = 0;
  std::int64_t count = 0;  // slabs
  float* out = nullptr;
  std::int64_t row_step = 0;
};

// How a product reads operands and writes results: rows of stacks by blocks, or groups by units.
template <class Isa>
struct OfBlocks {
  static typename Isa::V operand(const float* slab, int row) {
    return Isa::broadcast(slab[row / 4 * Isa::lanes + row % 4]);
  }
  static typename Isa::V result(typename Isa::V value) { return value; }
};
template <class Isa>
struct OfUnits {
  static typename Isa::V operand(const float* slab, int row) { return Isa::repeated(slab + row * Isa::lanes); }
  static typename Isa::V result(typename Isa::V value) { return Isa::turned(value); }
};

template <class Isa, class Of, int rows, int vectors>
inline void accumulate_slabs(const SlabProduct& product, const float* slab, const float* w,
                             typename Isa::V (&acc)[rows][vectors], Ahead& ahead) {
  const char* next = ahead.at;
  const std::int64_t step = product.slab_step;
  for (std::int64_t left = product.count; left > 0; --left, slab += step) {
#pragma GCC unroll 1
    for (std::int64_t i = 0; i < 4; ++i, w += vectors * Isa::lanes) {
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) {
        const typename Isa::V value = Of::operand(slab + 4 * i, r);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) acc[r][v] += value * Isa::load(w + v * Isa::lanes);
      }
      Isa::prefetch(next);
      next += ahead.step;
    }
  }
  ahead.at = next;
}

template <class Isa, class Of, int rows, int vectors>
void multiply_slabs(const SlabProduct& product, Ahead& ahead) {
  using V = typename Isa::V;
  V common[rows][vectors] = {};
  accumulate_slabs<Isa, Of, rows, vectors>(product, product.slabs + 2 * product.operand, product.kernels, common,
                                           ahead);
  for (int part = 1; part >= 0; --part) {  // the imaginary part, then the real one
    V acc[rows][vectors];
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) acc[r][v] = common[r][v];
    }
    accumulate_slabs<Isa, Of, rows, vectors>(product, product.slabs + (1 - part) * product.operand,
                                             product.kernels + (2 - part) * product.plane, acc, ahead);
    float* out = product.out + part * Isa::lanes;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        Isa::store(out + r * product.row_step + v * 2 * Isa::lanes, Of::result(acc[r][v]));
      }
    }
  }
}

// Returns the function for `wanted` rows, a multiple of `step` up to `rows`, and `vectors` vectors.
using MultiplySlabs = void (*)(const SlabProduct&, Ahead&);
template <class Isa, class Of, int vectors, int rows, int step>
MultiplySlabs slab_rows(std::int64_t wanted) {
  if constexpr (rows > step) {
    if (wanted < rows) return slab_rows<Isa, Of, vectors, rows - step, step>(wanted);
  }
  return &multiply_slabs<Isa, Of, rows, vectors>;
}

// Returns the most groups of 4 rows of one register block.
constexpr std::int64_t groups_of_blocks(std::int64_t vectors) { return vectors == 1 ? 4 : vectors == 2 ? 3 : 2; }
template <class Isa>
MultiplySlabs multiply_blocks(std::int64_t rows, std::int64_t blocks) {
  if (blocks == 1) return slab_rows<Isa, OfBlocks<Isa>, 1, 16, 4>(rows);
  if (blocks == 2) return slab_rows<Isa, OfBlocks<Isa>, 2, 12, 4>(rows);
  return slab_rows<Isa, OfBlocks<Isa>, 3, 8, 4>(rows);
}
template <class Isa>
MultiplySlabs multiply_units(std::int64_t groups, std::int64_t units) {
  if (units == 1) return slab_rows<Isa, OfUnits<Isa>, 1, groups_at_once, 1>(groups);
  if (units == 2) return slab_rows<Isa, OfUnits<Isa>, 2, groups_at_once, 1>(groups);
  return slab_rows<Isa, OfUnits<Isa>, 3, groups_at_once, 1>(groups);
}

// Multiplies some groups, whose operands are copied.
template <class Isa>
void multiply_groups(const PackedFrequency<Isa>& at, std::int64_t first, std::int64_t groups, Ahead& ahead) {
  const Tiling& t = *at.tiling;
  const std::int64_t channels = 4 * slabs_of(t);
  const std::int64_t slab_step = groups * Isa::lanes;
  const std::int64_t operand = slabs_of(t) * slab_step;
  for (std::int64_t b = 0; b < group_count(t.out_blocks(), Isa::gemm_vectors); ++b) {
    const BlockGroup blocks = block_group(t.out_blocks(), Isa::gemm_vectors, b);
    const std::int64_t most = groups_of_blocks(blocks.blocks);
    for (std::int64_t i = 0; i < group_count(groups, most); ++i) {
      const BlockGroup part = block_group(groups, most, i);
      float* const out = at.rows + (first + part.first) * 4 * t.stack_step() + blocks.first * t.block_step();
      const SlabProduct product{at.slabs + part.first * Isa::lanes,
                                slab_step,
                                operand,
                                at.planes + blocks.first * channels * Isa::lanes,
                                at.plane,
                                slabs_of(t),
                                out,
                                t.stack_step()};
      multiply_blocks<Isa>(4 * part.blocks, blocks.blocks)(product, ahead);
    }
  }
  if (t.out_units() == 0) return;
  const SlabProduct product{
      at.slabs,      slab_step, operand, at.spread, at.spread_plane, slabs_of(t), at.units + first * t.group_step(),
      t.group_step()};
  multiply_units<Isa>(groups, t.out_units())(product, ahead);
}

// Multiplies all rows and units of one frequency, in place, as multiply_frequency() does. `groups` is the number of
// groups of all tiles.
template <class Isa>
void multiply_packed_frequency(const Tiling& t, float* rows, std::int64_t groups, const float* kernels,
                               const float* next, float* scratch) {
  const std::int64_t channels = 4 * slabs_of(t);
  const std::int64_t plane = channels * t.out_blocks() * Isa::lanes;
  const std::int64_t spread_plane = channels * t.out_units() * Isa::lanes;
  const PackedFrequency<Isa> at{&t,
                                rows,
                                rows + column_rows(t) * t.stack_step(),
                                scratch,
                                plane,
                                scratch + 3 * plane,
                                spread_plane,
                                scratch + 3 * (plane + spread_plane)};
  packed_planes<Isa>(at, kernels);
  const std::int64_t parts = group_count(groups, groups_at_once);
  const std::int64_t products = group_count(t.out_blocks(), Isa::gemm_vectors) * 2 + (t.out_units() > 0 ? 1 : 0);
  const std::int64_t fetches = 3 * channels * parts * products;
  Ahead ahead{reinterpret_cast<const char*>(next), 4 * kernel_frequency_floats(t) / fetches + 1};
  for (std::int64_t i = 0; i < parts; ++i) {
    const BlockGroup part = block_group(groups, groups_at_once, i);
    copy_slabs<Isa>(at, part.first, part.blocks);
    multiply_groups<Isa>(at, part.first, part.blocks, ahead);
  }
}

}  // namespace znni::cpu::fft_tiled
