#include "primitives/gpu/fft_tiling.hpp"

#include <algorithm>

#include "primitives/gpu/areas.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

// The bytes in work at once in the transforms: large enough to fill the device, small beside the spectra.
constexpr std::int64_t slice_bytes = std::int64_t{128} << 20;
// The area that cuBLAS takes on the newest devices.
constexpr std::int64_t blas_area = std::int64_t{32} << 20;
// Passes over a slice's spectrum in one direction: cuFFT's three, of which the first reads real tiles.
constexpr double passes = 3.0;

std::int64_t axis_tile(std::int64_t n, std::int64_t edge) { return n <= edge ? fft_extent(n) : edge; }

std::optional<FftTiling> cut(const ConvProblem& conv, Vec3 tile, std::int64_t chunk_bytes) {
  const Vec3 kept = tile - conv.dilation * (conv.k - Vec3::cube(1));
  const Vec3 n_out = output_shape(conv).n;
  Vec3 tiles;
  for (int axis = 0; axis < 3; ++axis) {
    const bool whole = conv.in.n[axis] <= tile[axis];
    if (!whole && 3 * kept[axis] < tile[axis]) return std::nullopt;
    tiles[axis] = whole ? 1 : div_up(n_out[axis], kept[axis]);
  }
  FftTiling tiling;
  tiling.grid = {conv.in.S, extent_of(tile), extent_of(kept), extent_of(tiles)};
  tiling.spread = min(kept, n_out) - Vec3::cube(1);
  tiling.channels = conv.in.f;
  tiling.channels_out = conv.f_out;
  const std::int64_t all = mul(conv.in.S, voxels(tiles));
  const std::int64_t per_tile = complex_bytes(mul(tiling.frequencies(), add(conv.in.f, conv.f_out)));
  const std::int64_t fitting = std::clamp<std::int64_t>(chunk_bytes / per_tile, 1, all);
  tiling.chunks = div_up(all, fitting);
  tiling.chunk_tiles = div_up(all, tiling.chunks);
  const std::int64_t per_column = add(float_bytes(tiling.tile_voxels()), complex_bytes(tiling.frequencies()));
  const std::int64_t columns = mul(tiling.chunk_tiles, std::max(conv.in.f, conv.f_out));
  tiling.slice = std::clamp<std::int64_t>(slice_bytes / per_column, 1, columns);
  return tiling;
}

void declare(MemoryPlan& plan, std::string_view name, std::int64_t bytes, Lifetime lifetime) {
  plan.push_back({std::string(name), MemorySpace::device, bytes, lifetime});
}

// Returns the bytes of the products: spectra in and out, and the kernels' once per chunk.
double product_traffic(const ConvProblem& conv, const FftTiling& tiling) {
  const auto complex = static_cast<double>(complex_bytes(tiling.frequencies()));
  const auto tiles = static_cast<double>(tiling.chunks * tiling.chunk_tiles);
  const double channels = static_cast<double>(conv.in.f) + static_cast<double>(conv.f_out);
  const double pairs = static_cast<double>(conv.in.f) * static_cast<double>(conv.f_out);
  return tiles * channels * complex + static_cast<double>(tiling.chunks) * pairs * complex;
}

// Returns the bytes of products and of the transforms of all columns, at so many bytes a column.
double whole_traffic(const ConvProblem& conv, const FftTiling& tiling, bool keep_spectra, double per_column) {
  const auto tiles = static_cast<double>(tiling.chunks * tiling.chunk_tiles);
  const double channels = static_cast<double>(conv.in.f) + static_cast<double>(conv.f_out);
  const double pairs = static_cast<double>(conv.in.f) * static_cast<double>(conv.f_out);
  return tiles * channels * per_column + product_traffic(conv, tiling) + (keep_spectra ? 0.0 : pairs * per_column);
}

}  // namespace

std::int64_t fft_extent(std::int64_t n) {
  for (std::int64_t extent = std::max<std::int64_t>(n, 1);; ++extent) {
    std::int64_t rest = extent;
    for (const std::int64_t factor : {2, 3, 5, 7}) {
      while (rest % factor == 0) rest /= factor;
    }
    if (rest == 1) return extent;
  }
}

std::optional<FftTiling> make_tiling(const ConvProblem& conv, std::int64_t edge, std::int64_t chunk_bytes) {
  Vec3 tile;
  for (int axis = 0; axis < 3; ++axis) tile[axis] = axis_tile(conv.in.n[axis], edge);
  return cut(conv, tile, chunk_bytes);
}

std::optional<FftTiling> make_tiling_of_32(const ConvProblem& conv, std::int64_t chunk_bytes) {
  return cut(conv, Vec3::cube(32), chunk_bytes);
}

std::int64_t fft_area_bytes(const FftTiling& tiling) {
  return add(complex_bytes(mul(2, mul(tiling.slice, tiling.frequencies()))), std::int64_t{1} << 20);
}

MemoryPlan fft32_buffers(const ConvProblem& conv, const FftTiling& tiling, bool keep_spectra) {
  MemoryPlan plan;
  const Lifetime run = Lifetime::stages(0, 0);
  const std::int64_t pairs = mul(conv.in.f, conv.f_out);
  const std::int64_t spectra = mul(tiling.chunk_tiles, tiling.frequencies());
  declare(plan, kernels_buffer, float_bytes(mul(pairs, voxels(conv.k))), Lifetime::plan());
  declare(plan, bias_buffer, float_bytes(conv.f_out), Lifetime::plan());
  declare(plan, kernel_spectra_buffer, complex_bytes(mul(pairs, tiling.frequencies())),
          keep_spectra ? Lifetime::plan() : run);
  declare(plan, input_spectra_buffer, complex_bytes(mul(spectra, conv.in.f)), run);
  declare(plan, output_spectra_buffer, complex_bytes(mul(spectra, conv.f_out)), run);
  declare(plan, blas_area_buffer, area_bytes(blas_area), run);
  return plan;
}

MemoryPlan fft_buffers(const ConvProblem& conv, const FftTiling& tiling, bool keep_spectra) {
  MemoryPlan plan = fft32_buffers(conv, tiling, keep_spectra);
  const Lifetime run = Lifetime::stages(0, 0);
  declare(plan, tiles_buffer, float_bytes(mul(tiling.slice, tiling.tile_voxels())), run);
  declare(plan, slice_spectra_buffer, complex_bytes(mul(tiling.slice, tiling.frequencies())), run);
  declare(plan, fft_area_buffer, area_bytes(fft_area_bytes(tiling)), run);
  return plan;
}

double fft_traffic(const ConvProblem& conv, const FftTiling& tiling, bool keep_spectra) {
  const auto real = static_cast<double>(float_bytes(tiling.tile_voxels()));
  const auto complex = static_cast<double>(complex_bytes(tiling.frequencies()));
  // Cut out and written as real, transformed in passes of a read and a write, transposed.
  const double per_column = 3.0 * real + (2.0 * passes - 1.0) * complex + 2.0 * complex;
  return whole_traffic(conv, tiling, keep_spectra, per_column);
}

double fft32_traffic(const ConvProblem& conv, const FftTiling& tiling, bool keep_spectra) {
  const auto real = static_cast<double>(float_bytes(tiling.tile_voxels()));
  const auto complex = static_cast<double>(complex_bytes(tiling.frequencies()));
  // Planes are read as real and written; depth is read and written in place.
  return whole_traffic(conv, tiling, keep_spectra, real + 3.0 * complex);
}

double fft_product_flops(const FftTiling& tiling) {
  const auto tiles = static_cast<double>(tiling.chunks * tiling.chunk_tiles);
  return 8.0 * tiles * static_cast<double>(tiling.channels) * static_cast<double>(tiling.channels_out) *
         static_cast<double>(tiling.frequencies());
}

}  // namespace znni::cuda
