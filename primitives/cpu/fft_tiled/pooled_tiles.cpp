#include "primitives/cpu/fft_tiled/pooled_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/direct_taps.hpp"
#include "primitives/cpu/fft_tiled/fastest_few.hpp"
#include "primitives/cpu/fft_tiled/plane_choice.hpp"
#include "primitives/cpu/fft_tiled/tile_memory.hpp"

namespace znni::cpu::fft_tiled {
namespace {

constexpr std::size_t max_offers = 3;
// Input planes per tile that are tried at most: their spectra fill vectors.
constexpr std::int64_t wanted_planes[] = {16, 32, 48};
// Cost of writing a voxel of one channel into the cache, in operations at the peak rate. The other two are cycles: for
// pooling and finishing eight values, and for the loops of a row of one block.
constexpr double operations_of_writing = 12.0;
constexpr double cycles_per_eight = 4.0;
constexpr double cycles_per_row = 30.0;
// Relative slowdown if a worker's scratch is as large as its second-level cache; measured up to twice that size.
constexpr double slower_by_cache = 0.12;
constexpr std::int64_t min_cache = 1 << 18;  // assumed if the machine's caches are unknown

double real(std::int64_t value) { return static_cast<double>(value); }

// Counts that several estimates of one tiling need.
struct Counts {
  Shape5 out;  // output of the pooling
  Vec3 positions;
  Vec3 tiles;
  std::int64_t tile_count = 0;
  Vec3 computed;  // per axis: voxels of the convolution that are computed, summed over the tiles of that axis
};
Counts counts_of(const PooledTiling& t) {
  const Vec3 shared = t.read_by(Vec3::cube(1)) - t.pool.stride;
  Counts counts{output_shape(t.pool), t.positions(), {}, 0, {}};
  const auto count = [&](int axis) { return div_up(counts.out.n[axis], counts.positions[axis]); };
  counts.tiles = {count(0), count(1), count(2)};
  counts.tile_count = mul(t.pool.in.S, voxels(counts.tiles));
  counts.computed = t.pool.stride * counts.out.n + shared * counts.tiles;
  return counts;
}

// Adds the tiles of y and x of `t` with the planes for which they are fastest. Tiles along z are as equal as possible.
void add_best_planes(PooledTiling& t, const TileKernels& kernels, const DeviceSpec& spec, FastestFew<Vec3>& fastest) {
  Seconds shortest = std::numeric_limits<Seconds>::infinity();
  Vec3 best;
  const std::int64_t out = output_shape(t.pool).n.z;
  const std::int64_t least = t.read_by(Vec3::cube(1)).z + t.conv.problem.k.z - 1;
  for (const std::int64_t wanted : wanted_planes) {
    t.conv.T.z = std::max(wanted, least);
    const std::int64_t positions = div_up(out, div_up(out, t.positions().z));
    t.conv.T.z = t.read_by({positions, 1, 1}).z + t.conv.problem.k.z - 1;
    const Seconds seconds = pooled_seconds(t, kernels, spec);
    if (seconds >= shortest) continue;
    shortest = seconds;
    best = t.conv.T;
  }
  if (std::isfinite(shortest)) fastest.add(shortest, best);
}

// Returns the extents whose valid voxels hold a window, up to the one that covers the axis.
std::vector<std::int64_t> extents_along(const PooledTiling& t, int axis) {
  const std::int64_t least = t.read_by(Vec3::cube(1))[axis] + t.conv.problem.k[axis] - 1;
  std::vector<std::int64_t> extents;
  for (const std::int64_t extent : tile_extents()) {
    if (extent >= least) extents.push_back(extent);
    if (extent >= t.conv.problem.in.n[axis]) break;
  }
  return extents;
}

// Returns the operations of transforms and products.
double tile_flops(const PooledTiling& t, const Counts& counts) {
  const Vec3 tiles = counts.tiles;
  const double planes = real(t.pool.in.S) * real(tiles.y) * real(tiles.x) * real(counts.computed.z);
  return plane_flops(t.conv, real(counts.tile_count), planes, div_up(counts.computed.y, tiles.y));
}

// Returns the voxels of the convolution that are computed, of all channels and inputs.
double voxels_written(const PooledTiling& t, const Counts& counts) {
  return real(t.conv.out_blocks() * t.conv.lanes) * real(t.pool.in.S) * real(voxels(counts.computed));
}

double pooling_flops(const PooledTiling& t, const Counts& counts, const DeviceSpec& spec) {
  const Shape5& out = counts.out;
  const double blocks = real(t.conv.out_blocks());
  const double vectors = real(out.S) * real(voxels(out.n)) * blocks * real(t.conv.lanes / 8);
  const double rows = real(t.pool.in.S) * blocks * real(out.n.z) * real(out.n.y) * real(counts.tiles.x);
  const double finishing = late_activation_flops(t.conv.problem.activation, spec) * 8.0 * vectors;
  return finishing + scalar_flops(vectors * cycles_per_eight + rows * cycles_per_row, spec);
}

// Returns a tiling with long rows, and few enough planes per tile to leave work for all workers.
PooledTiling direct_tiling(PooledTiling t) {
  const Vec3 positions = min({24, 8, 32}, output_shape(t.pool).n);
  t.direct = true;
  t.conv.T = t.read_by(positions) + t.conv.problem.k - Vec3::cube(1);
  return t;
}

}  // namespace

Vec3 PooledTiling::read_by(Vec3 positions) const {
  return pool.stride * (positions - Vec3::cube(1)) + pool.window + pooled_offsets(pool) - Vec3::cube(1);
}

Vec3 PooledTiling::positions() const { return (conv.m() - read_by(Vec3::cube(1))) / pool.stride + Vec3::cube(1); }

Vec3 PooledTiling::tiles() const {
  const Vec3 out = output_shape(pool).n;
  const Vec3 each = positions();
  return {div_up(out.z, each.z), div_up(out.y, each.y), div_up(out.x, each.x)};
}

PooledTile tile_at(const PooledTiling& t, std::int64_t index) {
  const Vec3 tiles = t.tiles();
  const Vec3 place{index / (tiles.x * tiles.y) % tiles.z, index / tiles.x % tiles.y, index % tiles.x};
  const Vec3 first = place * t.positions();
  return {index / voxels(tiles), first, min(t.positions(), output_shape(t.pool).n - first)};
}

PooledPlanes planes_held(const PooledTiling& t, const TileKernels& kernels) {
  const std::int64_t stride = t.pool.stride.z;
  const std::int64_t together = t.direct ? 1 : planes_at_once(kernels.gemm_rows);
  const std::int64_t planes = together % stride == 0 ? together : together * stride;
  const std::int64_t again = t.read_by(Vec3::cube(1)).z - stride;
  return {planes / stride, again, planes + again};
}

std::int64_t held_plane_floats(const PooledTiling& t) {
  const Vec3 read = t.read_by(t.positions());
  return read.y * (t.direct ? read.x : t.conv.T.x) * t.conv.lanes;
}

std::int64_t held_row_floats(const PooledTiling& t) {
  return (t.direct ? t.read_by(t.positions()).x : t.conv.T.x) * t.conv.lanes;
}

std::vector<PooledTiling> pooled_tilings(const ConvPoolProblem& both, const TileKernels& kernels,
                                         const DeviceSpec& spec) {
  FastestFew<Vec3> fastest(max_offers);
  const PooledTiling whole = pooled_tiling(both, kernels.lanes, {});
  PooledTiling tried = whole;
  const std::vector<std::int64_t> along_x = extents_along(whole, 2);
  for (const std::int64_t y : extents_along(whole, 1)) {
    for (const std::int64_t x : along_x) {
      tried.conv.T = {0, y, x};
      add_best_planes(tried, kernels, spec, fastest);
    }
  }
  std::vector<PooledTiling> tilings;
  for (const Vec3 T : fastest.choices()) {
    tilings.push_back(whole);
    tilings.back().conv.T = T;
  }
  if (tap_count(both.conv) <= max_planar_taps) tilings.push_back(direct_tiling(whole));
  return tilings;
}

Variant pooled_variant(const PooledTiling& t) {
  Variant variant = plane_variant(t.conv);
  if (t.direct) variant.push_back({"direct", 1});
  return variant;
}

PooledTiling pooled_tiling(const ConvPoolProblem& both, std::int64_t lanes, const Variant& variant) {
  return {plane_tiling(both.conv, lanes, variant), both.pool, setting(variant, "direct", 0) == 1};
}

PooledScratch pooled_scratch(const PooledTiling& t, const TileKernels& kernels) {
  constexpr std::int64_t line = buffer_alignment / static_cast<std::int64_t>(sizeof(float));
  const std::int64_t held = planes_held(t, kernels).held;
  const std::int64_t tile =
      t.direct ? rows_scratch(t.conv) : tile_scratch(t.conv, std::min(held, max_planes_of_block(kernels.gemm_rows)));
  return {round_up(tile, line), round_up(held * held_plane_floats(t), line)};
}

std::int64_t pooled_kernel_floats(const PooledTiling& t) {
  return t.direct ? mul(t.conv.out_blocks() * t.conv.lanes, tap_count(t.conv.problem)) : plane_spectra_floats(t.conv);
}

Seconds pooled_seconds(const PooledTiling& t, const TileKernels& kernels, const DeviceSpec& spec) {
  const Counts counts = counts_of(t);
  const double written = voxels_written(t, counts);
  const double products =
      t.direct ? 2.0 * real(tap_count(t.conv.problem)) / tap_efficiency * written : tile_flops(t, counts);
  const double arithmetic = products + operations_of_writing * written + pooling_flops(t, counts, spec);
  const double rounds = real(div_up(counts.tile_count, spec.threads)) * spec.threads / real(counts.tile_count);
  const double held = real(float_bytes(pooled_scratch(t, kernels).floats()));
  const double slower = 1.0 + slower_by_cache * held / real(std::max(spec.l2_bytes, min_cache));
  const ConvPoolProblem both{t.conv.problem, t.pool};
  return modelled_time(spec, slower * rounds * arithmetic, 1.0,
                       tensor_traffic(both, planar_format, blocked_format(spec)));
}

// Returns a lower bound of the time. A single tile computes no voxel twice, is in cache and keeps all workers busy; its
// products are left out.
Seconds min_pooled_seconds(const ConvPoolProblem& both, std::int64_t lanes, const DeviceSpec& spec) {
  const PooledTiling whole = pooled_tiling(both, lanes, {});
  const Shape5 out = output_shape(both.pool);
  const Vec3 shared = whole.read_by(Vec3::cube(1)) - both.pool.stride;
  const Counts counts{out, out.n, Vec3::cube(1), both.pool.in.S, both.pool.stride * out.n + shared};
  const double arithmetic = operations_of_writing * voxels_written(whole, counts) + pooling_flops(whole, counts, spec);
  return modelled_time(spec, arithmetic, 1.0, tensor_traffic(both, planar_format, blocked_format(spec)));
}

Estimate pooled_estimate(const PooledTiling& t, const TileKernels& kernels, const DeviceSpec& spec) {
  const ConvPoolProblem both{t.conv.problem, t.pool};
  const Format out = blocked_format(spec);
  Estimate estimate{pooled_variant(t), planar_format, out, pooled_seconds(t, kernels, spec), {}};
  estimate.memory = input_output_buffers(both, planar_format, out);
  if (!t.direct) estimate.spread = plane_spread(t.conv);
  const auto declare = [&](std::string_view name, std::int64_t floats, Lifetime lifetime) {
    estimate.memory.push_back({std::string(name), MemorySpace::host, float_bytes(floats), lifetime});
  };
  declare(kernel_spectra_name, pooled_kernel_floats(t), Lifetime::plan());
  declare(bias_name, t.conv.out_blocks() * t.conv.lanes, Lifetime::plan());
  declare(worker_scratch_name, mul(spec.threads, pooled_scratch(t, kernels).floats()), Lifetime::stages(0, 0));
  return estimate;
}

}  // namespace znni::cpu::fft_tiled
