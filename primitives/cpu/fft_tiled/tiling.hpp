// Tiles of a convolution for the tiled FFT: overlap-save tiles, stacks, batches, columns. Values only.
//
// Tiles of m = T - k + 1 voxels per axis cover the output; each is the valid part of a cyclic convolution of extent T.
// All tiles of one (s, y, x) are a stack. Every plane of a stack is transformed once along y and x. It gives `columns`
// complex values per channel (ZNNi III, pruned to the half that a real input needs). A column is all planes of one (ky,
// kx) frequency. Along z the tiles overlap, so a column is transformed tile by tile when it is multiplied. A batch is
// the stacks that share one pass over the kernel spectra. Phases of a dilated convolution have stacks of their own,
// which share the kernel spectra, too.
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

struct Tiling {
  ConvProblem problem;      // without dilation: see phase_problem()
  std::int64_t lanes = 16;  // channels per block
  Vec3 T;
  std::int64_t stacks_per_batch = 1;
  Phases phases = {};

  // Returns the output of the largest phase.
  [[nodiscard]] Vec3 n_out() const { return problem.in.n - problem.k + Vec3::cube(1); }
  [[nodiscard]] Vec3 m() const { return T - problem.k + Vec3::cube(1); }
  [[nodiscard]] Vec3 tiles() const;
  [[nodiscard]] std::int64_t in_blocks() const { return div_up(problem.in.f, lanes); }
  [[nodiscard]] std::int64_t out_blocks() const { return div_up(problem.f_out, lanes); }
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

  // Return distances in floats within the spectra of a batch, [column][plane][stack][block][re | im][lane].
  [[nodiscard]] std::int64_t block_step() const { return 2 * lanes; }
  [[nodiscard]] std::int64_t stack_step() const { return std::max(in_blocks(), out_blocks()) * block_step(); }
  [[nodiscard]] std::int64_t plane_step() const { return mul(stacks_per_batch, stack_step()); }
  // Returns the distance between columns: one block more than needed, so that columns do not map to the same cache
  // sets.
  [[nodiscard]] std::int64_t column_step() const { return add(mul(planes(), plane_step()), block_step()); }
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
