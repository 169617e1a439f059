// Tiles of a convolution for the tiled FFT: overlap-save tiles, stacks, batches, columns. Values only.
//
// Tiles of m = T - k + 1 voxels per axis cover the output; each is the valid part of a cyclic convolution of extent T.
// If k - 1 zeros are around the input, a tile as long as the output has m = T.
// All tiles of one (s, y, x) are a stack. Every plane of a stack is transformed once along y and x. It gives `columns`
// complex values per channel (ZNNi III, pruned to the half that a real input needs). A column is all planes of one (ky,
// kx) frequency. Along z the tiles overlap, so a column is transformed tile by tile when it is multiplied. A batch is
// the stacks that share one pass over the kernel spectra. Phases of a dilated convolution have stacks of their own,
// which share the kernel spectra, too.
//
// Channels beyond whole blocks may be packed: a vector holds a unit of 4 of them for each stack of a group, so that
// none of its lanes is empty. A group has as many neighbouring stacks as a vector has units. Where fewer than 4 lanes
// would be empty, the last block is a block like the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "primitives/core/problem.hpp"
#include "primitives/cpu/fft_tiled/phases.hpp"

namespace znni::cpu::fft_tiled {

// Returns the extents of tiles that have straight-line transforms, rising. If a kernel has one tap along z, that axis
// may also stay untransformed: T.z = 1.
[[nodiscard]] const std::vector<std::int64_t>& tile_extents();

inline constexpr std::int64_t unit_lanes = 4;

// How channels lie in vectors: in blocks of their own stack, the rest in packed units.
struct ChannelSplit {
  std::int64_t blocks = 0;
  std::int64_t units = 0;
};
[[nodiscard]] __attribute__((always_inline)) constexpr ChannelSplit split_channels(std::int64_t channels,
                                                                                   std::int64_t lanes, bool packs) {
  const std::int64_t rest = channels % lanes;
  if (!packs || rest == 0 || rest > lanes - unit_lanes) return {div_up(channels, lanes), 0};
  return {channels / lanes, div_up(rest, unit_lanes)};
}

struct Tiling {
  ConvProblem problem;      // without dilation: see phase_problem()
  std::int64_t lanes = 16;  // channels per block
  Vec3 T;
  std::int64_t stacks_per_batch = 1;
  Phases phases = {};
  bool packs = false;  // units are packed
  // Whether k - 1 zeros are around the input. Then a tile as long as the output needs no more: in its cyclic
  // convolution only zeros wrap around.
  bool has_border = false;

  // Returns the output of the largest phase.
  [[nodiscard]] Vec3 n_out() const { return problem.in.n - problem.k + Vec3::cube(1); }
  // Returns the voxels of the output that a tile covers.
  [[nodiscard]] Vec3 m() const;
  [[nodiscard]] Vec3 tiles() const;
  [[nodiscard]] __attribute__((always_inline)) std::int64_t in_blocks() const {
    return split_channels(problem.in.f, lanes, packs).blocks;
  }
  [[nodiscard]] __attribute__((always_inline)) std::int64_t out_blocks() const {
    return split_channels(problem.f_out, lanes, packs).blocks;
  }
  [[nodiscard]] __attribute__((always_inline)) std::int64_t in_units() const {
    return split_channels(problem.in.f, lanes, packs).units;
  }
  [[nodiscard]] __attribute__((always_inline)) std::int64_t out_units() const {
    return split_channels(problem.f_out, lanes, packs).units;
  }
  // Return the lanes of a stack's own.
  [[nodiscard]] __attribute__((always_inline)) std::int64_t in_lanes() const {
    return in_blocks() * lanes + in_units() * unit_lanes;
  }
  [[nodiscard]] __attribute__((always_inline)) std::int64_t out_lanes() const {
    return out_blocks() * lanes + out_units() * unit_lanes;
  }
  // Returns the planes of a column. Planes of the last tile beyond the input are zero.
  [[nodiscard]] std::int64_t planes() const { return (tiles().z - 1) * m().z + T.z; }
  // Returns the complex values of a plane's transform. kx = 0 and kx = T.x / 2 are real along y, so they keep T.y / 2 +
  // 1.
  [[nodiscard]] std::int64_t columns() const { return T.y * (T.x / 2 - 1) + 2 * (T.y / 2 + 1); }
  [[nodiscard]] std::int64_t first_column(std::int64_t kx) const;
  [[nodiscard]] std::int64_t stacks() const { return mul(mul(problem.in.S, tiles().y), tiles().x); }
  [[nodiscard]] std::int64_t batches() const { return div_up(stacks(), stacks_per_batch); }
  [[nodiscard]] std::int64_t stacks_of(std::int64_t batch) const;
  // Returns the number of tiles that share one pass over the kernel spectra.
  [[nodiscard]] std::int64_t tiles_per_batch() const { return stacks_per_batch * tiles().z; }

  // Returns the stacks that share vectors.
  [[nodiscard]] __attribute__((always_inline)) std::int64_t group() const { return packs ? lanes / unit_lanes : 1; }

  // Return distances in floats within the spectra of a batch, [column][plane][stack][block][re | im][lane]. Behind all
  // stacks of a plane lie its packed units, [group][unit][re | im][stack][lane].
  [[nodiscard]] std::int64_t block_step() const { return 2 * lanes; }
  [[nodiscard]] __attribute__((always_inline)) std::int64_t stack_step() const {
    return std::max(in_blocks(), out_blocks()) * block_step();
  }
  [[nodiscard]] __attribute__((always_inline)) std::int64_t group_step() const {
    return std::max(in_units(), out_units()) * block_step();
  }
  // Returns the distance from a plane's first stack to its first group.
  [[nodiscard]] __attribute__((always_inline)) std::int64_t units_offset() const {
    return mul(stacks_per_batch, stack_step());
  }
  [[nodiscard]] __attribute__((always_inline)) std::int64_t plane_step() const {
    return add(units_offset(), packs ? mul(div_up(stacks_per_batch, group()), group_step()) : 0);
  }
  // Returns the distance between columns: one block more than needed, so that columns do not map to the same cache
  // sets.
  [[nodiscard]] __attribute__((always_inline)) std::int64_t column_step() const {
    return add(mul(planes(), plane_step()), block_step());
  }
};

// Position of a stack.
struct Stack {
  std::int64_t s = 0;
  std::int64_t y = 0;  // first input row and column, which are also the first output ones
  std::int64_t x = 0;
  Vec3 phase = {};  // y and x count its voxels
};
// Returns the position of a stack. Phases of the same tile are neighbours, because their voxels are.
[[nodiscard]] Stack stack_at(const Tiling& tiling, std::int64_t index);

// Returns how often a column's frequency occurs in the full spectrum: 1 or 2 (of two conjugates one is kept).
[[nodiscard]] std::int64_t column_weight(const Tiling& tiling, std::int64_t column);

}  // namespace znni::cpu::fft_tiled
