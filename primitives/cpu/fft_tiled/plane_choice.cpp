#include "primitives/cpu/fft_tiled/plane_choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/fastest_few.hpp"
#include "primitives/cpu/fft_tiled/tile_memory.hpp"

namespace znni::cpu::fft_tiled {
namespace {

constexpr std::size_t max_offers = 3;
// Output planes per tile that are tried. With more, fewer planes are transformed twice; with fewer, there are more
// tasks to occupy the workers.
constexpr std::int64_t wanted_planes[] = {24, 12, 6};
// Operations of a complex transform of each of tile_extents(), as generate_codelets.py counts them. A real one has
// about half as many.
constexpr double operations[] = {16, 44, 58, 116, 112, 220, 172, 276, 272, 524, 302, 724, 496, 508, 466, 624, 674, 772};
// Fractions of the peak rate for multiply-adds in products, and for the single operations of transforms.
constexpr double product_efficiency = 0.60;
constexpr double transform_efficiency = 0.95;
// Cost of finishing and writing a voxel of one channel, in operations at the peak rate.
constexpr double operations_of_writing = 36.0;

double real(std::int64_t value) { return static_cast<double>(value); }

double transform_operations(std::int64_t extent) {
  static const std::vector<double> by_extent = [] {
    std::vector<double> found(static_cast<std::size_t>(tile_extents().back()) + 1);
    for (std::size_t i = 0; i < std::size(operations); ++i) {
      found[static_cast<std::size_t>(tile_extents()[i])] = operations[i];
    }
    return found;
  }();
  return by_extent[static_cast<std::size_t>(extent)];
}

Tiling make_tiling(const ConvProblem& problem, std::int64_t lanes, Vec3 T) { return {problem, lanes, T, 1}; }

// Returns the extent that cuts the z axis into equal tiles of about `wanted` outputs.
std::int64_t planes_of_tiles(const ConvProblem& problem, std::int64_t wanted) {
  const std::int64_t out = problem.in.n.z - problem.k.z + 1;
  return div_up(out, div_up(out, wanted)) + problem.k.z - 1;
}

// Returns the extents that hold the kernel, up to the one that covers the axis.
std::vector<std::int64_t> extents_along(const ConvProblem& problem, int axis) {
  std::vector<std::int64_t> extents;
  for (const std::int64_t extent : tile_extents()) {
    if (extent >= problem.k[axis]) extents.push_back(extent);
    if (extent >= problem.in.n[axis]) break;
  }
  return extents;
}

// Returns the operations of one plane and channel: `rows` lines along x, lines along y for each kx.
double plane_operations(const Tiling& t, std::int64_t rows) {
  return 0.5 * real(rows) * transform_operations(t.T.x) + real(t.columns()) / real(t.T.y) * transform_operations(t.T.y);
}

// Adds the tiles of y and x of `t` with the z for which they are fastest.
void add_best_planes(Tiling& t, const DeviceSpec& spec, FastestFew<Vec3>& fastest) {
  Seconds least = std::numeric_limits<Seconds>::infinity();
  Vec3 best;
  for (const std::int64_t wanted : wanted_planes) {
    t.T.z = planes_of_tiles(t.problem, wanted);
    const Seconds seconds = plane_seconds(t, spec);
    if (seconds >= least) continue;
    least = seconds;
    best = t.T;
  }
  if (std::isfinite(least)) fastest.add(least, best);
}

}  // namespace

std::vector<Tiling> plane_tilings(const ConvProblem& problem, std::int64_t lanes, const DeviceSpec& spec) {
  FastestFew<Vec3> fastest(max_offers);
  Tiling tried = make_tiling(problem, lanes, {});
  const std::vector<std::int64_t> along_x = extents_along(problem, 2);
  for (const std::int64_t y : extents_along(problem, 1)) {
    for (const std::int64_t x : along_x) {
      tried.T = {0, y, x};
      add_best_planes(tried, spec, fastest);
    }
  }
  std::vector<Tiling> tilings;
  for (const Vec3 T : fastest.choices()) tilings.push_back(make_tiling(problem, lanes, T));
  return tilings;
}

Vec3 plane_spread(const Tiling& tiling) {
  const Vec3 rest = min(tiling.T, tiling.problem.in.n) - tiling.problem.k;
  return {0, rest.y, rest.x};
}

Variant plane_variant(const Tiling& tiling) {
  return {{"planes", tiling.T.z}, {"tile_y", tiling.T.y}, {"tile_x", tiling.T.x}};
}

Tiling plane_tiling(const ConvProblem& problem, std::int64_t lanes, const Variant& variant) {
  const Vec3 T{setting(variant, "planes", problem.k.z), setting(variant, "tile_y", 16), setting(variant, "tile_x", 16)};
  return make_tiling(problem, lanes, T);
}

void keep_plane_spectra(const Tiling& t, const TileKernels& kernels, const LayerWeights& weights,
                        std::span<float> spectra, std::span<float> bias) {
  copy_padded(weights.bias, bias);
  const std::int64_t blocks = t.out_blocks();
  std::vector<float> scratch(static_cast<std::size_t>(spectra_scratch(t)));  // only while loading
  for (std::int64_t i = 0; i < t.problem.in.f * blocks; ++i) {
    kernels.plane_spectra({&t, weights.kernels.data(), i / blocks, i % blocks, spectra.data(), scratch.data()});
  }
}

std::int64_t plane_scratch(const Tiling& tiling) {
  const std::int64_t line = buffer_alignment / static_cast<std::int64_t>(sizeof(float));
  return round_up(tile_scratch(tiling), line);
}

double plane_flops(const Tiling& t, double tiles, double planes, std::int64_t rows) {
  const double channels = real(t.problem.in.f);
  const double out = real(t.out_blocks()) * real(t.lanes);
  const double transforms =
      tiles * channels * real(padded_planes(t)) * plane_operations(t, t.T.y) + planes * out * plane_operations(t, rows);
  const double products = 6.0 * planes * real(t.columns()) * out * channels * real(t.problem.k.z);
  return products / product_efficiency + transforms / transform_efficiency;
}

Seconds plane_seconds(const Tiling& t, const DeviceSpec& spec) {
  const Vec3 counts = t.tiles();
  const std::int64_t stacks = t.problem.in.S * counts.y * counts.x;
  const double tiles = real(mul(stacks, counts.z));
  const double out = real(t.out_blocks()) * real(t.lanes);
  const double planes = real(stacks) * real(t.n_out().z);
  // Tasks are equal: in the last round some workers are idle.
  const double rounds = std::ceil(tiles / spec.threads) * spec.threads / tiles;
  const double outputs = out * real(t.problem.in.S) * real(voxels(t.n_out()));
  const double arithmetic = plane_flops(t, tiles, planes, std::min(t.m().y, t.n_out().y)) +
                            (operations_of_writing + late_activation_flops(t.problem.activation, spec)) * outputs;
  const double bytes = 4.0 * (real(elements(t.problem.in)) + (t.problem.residual ? 2.0 : 1.0) * outputs);
  return modelled_time(spec, rounds * arithmetic, 1.0, bytes);
}

Estimate plane_estimate(const Tiling& tiling, const DeviceSpec& spec, Format out) {
  Estimate estimate{plane_variant(tiling), planar_format, out, plane_seconds(tiling, spec), {}};
  estimate.memory = input_output_buffers(tiling.problem, planar_format, out);
  estimate.spread = plane_spread(tiling);
  const auto declare = [&](std::string_view name, std::int64_t floats, Lifetime lifetime) {
    estimate.memory.push_back({std::string(name), MemorySpace::host, float_bytes(floats), lifetime});
  };
  declare(kernel_spectra_name, plane_spectra_floats(tiling), Lifetime::plan());
  declare(bias_name, tiling.out_blocks() * tiling.lanes, Lifetime::plan());
  declare(worker_scratch_name, mul(spec.threads, plane_scratch(tiling)), Lifetime::stages(0, 0));
  return estimate;
}

}  // namespace znni::cpu::fft_tiled
