// Cuts a convolution of few channels with a max pooling behind it into tiles of pooled voxels. It uses transforms of
// planes (whole_tile.hpp) or the direct algorithm (direct_rows.hpp). Each tile computes the voxels of the convolution
// that its windows read; neighbouring tiles compute some of them again. Also models memory and time.
#pragma once

#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

struct PooledTiling {
  Tiling conv;  // problem, lanes and extents
  PoolProblem pool;
  bool direct = false;  // if true, extents need no transforms

  // Returns the extent of convolution voxels that `positions` positions of the windows read, at all offsets.
  [[nodiscard]] Vec3 read_by(Vec3 positions) const;
  // Returns the window positions of a tile: all that fit its valid voxels.
  [[nodiscard]] Vec3 positions() const;
  [[nodiscard]] Vec3 tiles() const;  // of one input
};

// A range of window positions of one input.
struct PooledTile {
  std::int64_t s = 0;
  Vec3 first;
  Vec3 count;
};
[[nodiscard]] inline std::int64_t tile_count(const PooledTiling& t) { return mul(t.pool.in.S, voxels(t.tiles())); }
[[nodiscard]] PooledTile tile_at(const PooledTiling& t, std::int64_t index);

// Number of convolution planes of a tile's block that are held at once. They are whole windows: as many planes as the
// products take together (one for the direct algorithm), plus those that the next windows read again.
struct PooledPlanes {
  std::int64_t positions = 1;  // window positions along z
  std::int64_t again = 0;
  std::int64_t held = 0;
};
[[nodiscard]] PooledPlanes planes_held(const PooledTiling& t, const TileKernels& kernels);
[[nodiscard]] std::int64_t held_plane_floats(const PooledTiling& t);
[[nodiscard]] std::int64_t held_row_floats(const PooledTiling& t);

// Returns a few tilings, by rising time. Tilings for transforms come first, then the one for the direct algorithm, if
// any. Returns none if no tile is large enough for the kernel and a window.
[[nodiscard]] std::vector<PooledTiling> pooled_tilings(const ConvPoolProblem& both, const TileKernels& kernels,
                                                       const DeviceSpec& spec);
// Convert a tiling to settings and back.
[[nodiscard]] Variant pooled_variant(const PooledTiling& t);
[[nodiscard]] PooledTiling pooled_tiling(const ConvPoolProblem& both, std::int64_t lanes, const Variant& variant);

// One worker's scratch in floats, in whole cache lines: the work space of a tile and, behind it, the planes of one
// block.
struct PooledScratch {
  std::int64_t tile = 0;  // one line for the direct algorithm
  std::int64_t planes = 0;
  [[nodiscard]] std::int64_t floats() const { return tile + planes; }
};
[[nodiscard]] PooledScratch pooled_scratch(const PooledTiling& t, const TileKernels& kernels);

// Returns the floats of the kernels, as spectra or as taps.
[[nodiscard]] std::int64_t pooled_kernel_floats(const PooledTiling& t);

// Returns the time of one run of all S inputs.
[[nodiscard]] Seconds pooled_seconds(const PooledTiling& t, const TileKernels& kernels, const DeviceSpec& spec);

// Returns a lower bound of that of every tiling of the problem, without a choice of tiles.
[[nodiscard]] Seconds min_pooled_seconds(const ConvPoolProblem& both, std::int64_t lanes, const DeviceSpec& spec);

[[nodiscard]] Estimate pooled_estimate(const PooledTiling& t, const TileKernels& kernels, const DeviceSpec& spec);

}  // namespace znni::cpu::fft_tiled
