// How a convolution of few images with a max pooling behind it is cut, for transforms of planes (whole_tile.hpp) or the
// direct algorithm (direct_rows.hpp): tiles of pooled voxels, each with the voxels of the convolution that its windows
// read, which neighbours compute, too. What that holds and how long it takes.
#pragma once

#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

struct PooledTiling {
  Tiling conv;  // problem, lanes and extents
  PoolProblem pool;
  bool direct = false;  // then extents need no transforms

  // Voxels of the convolution that `positions` of the windows read, at all offsets.
  [[nodiscard]] Vec3 read_by(Vec3 positions) const;
  // Positions of a tile: as many as its valid voxels serve.
  [[nodiscard]] Vec3 positions() const;
  [[nodiscard]] Vec3 tiles() const;  // of one input
};

// Some positions of the windows of one input.
struct PooledTile {
  std::int64_t s = 0;
  Vec3 first;
  Vec3 count;
};
[[nodiscard]] inline std::int64_t tile_count(const PooledTiling& t) { return mul(t.pool.in.S, voxels(t.tiles())); }
[[nodiscard]] PooledTile tile_at(const PooledTiling& t, std::int64_t index);

// Of one block of a tile as many planes are held at once as the products take together, or one, in whole windows, and
// those that the windows behind them read again.
struct PooledPlanes {
  std::int64_t positions = 1;  // of the windows along z
  std::int64_t again = 0;
  std::int64_t held = 0;
};
[[nodiscard]] PooledPlanes planes_held(const PooledTiling& t, const TileKernels& kernels);
[[nodiscard]] std::int64_t held_plane_floats(const PooledTiling& t);
[[nodiscard]] std::int64_t held_row_floats(const PooledTiling& t);

// A few tilings, by rising time, those for transforms before that for the direct algorithm, if any; empty where no tile
// takes the kernel and a window.
[[nodiscard]] std::vector<PooledTiling> pooled_tilings(const ConvPoolProblem& both, const TileKernels& kernels,
                                                       const DeviceSpec& spec);
// A tiling as settings, and back.
[[nodiscard]] Variant pooled_variant(const PooledTiling& t);
[[nodiscard]] PooledTiling pooled_tiling(const ConvPoolProblem& both, std::int64_t lanes, const Variant& variant);

// Floats of one worker, whole cache lines: what a tile takes and, behind that, the planes of one block.
struct PooledScratch {
  std::int64_t tile = 0;  // with the direct algorithm: a line
  std::int64_t planes = 0;
  [[nodiscard]] std::int64_t floats() const { return tile + planes; }
};
[[nodiscard]] PooledScratch pooled_scratch(const PooledTiling& t, const TileKernels& kernels);

// Floats of the kernels, as spectra or as taps.
[[nodiscard]] std::int64_t pooled_kernel_floats(const PooledTiling& t);

// One run, all S inputs.
[[nodiscard]] Seconds pooled_seconds(const PooledTiling& t, const TileKernels& kernels, const DeviceSpec& spec);

[[nodiscard]] Estimate pooled_estimate(const PooledTiling& t, const TileKernels& kernels, const DeviceSpec& spec);

}  // namespace znni::cpu::fft_tiled
