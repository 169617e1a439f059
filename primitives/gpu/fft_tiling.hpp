// The division of a convolution by FFT: the extents of its tiles, how many pass through the GPU at once, and the memory
// that this takes. Values only; no GPU is asked.
#pragma once

#include <optional>
#include <vector>

#include "primitives/core/memory.hpp"
#include "primitives/core/problem.hpp"
#include "primitives/gpu/fft_element.hpp"

namespace znni::cuda {

// A chunk of tiles goes through three steps: their transforms, one matrix product per frequency, the transforms back.
// In the first and the last, `slice` tiles of one channel are in work at once. Columns count channels of tiles.
struct FftTiling {
  TileGrid grid;
  std::int64_t channels = 1;      // f
  std::int64_t channels_out = 1;  // f_out
  std::int64_t chunk_tiles = 1;   // tiles whose spectra are held
  std::int64_t chunks = 1;
  std::int64_t slice = 1;  // columns
  Vec3 spread = {};        // Estimate::spread: the rest of a tile, as far as it lies within the input

  [[nodiscard]] std::int64_t tile_voxels() const { return voxels_of(grid.tile); }
  // Returns the frequencies of a real transform: half the row, and one.
  [[nodiscard]] std::int64_t frequencies() const { return grid.tile.z * grid.tile.y * (grid.tile.x / 2 + 1); }
};

// Returns the least n' >= n whose factors are 2, 3, 5 and 7, for which cuFFT is at its best.
[[nodiscard]] std::int64_t fft_extent(std::int64_t n);

// Makes tiles of edge `edge`, or of the whole input along an axis that is no longer; chunks of about `chunk_bytes` of
// spectra. Returns nothing if less than a third of a tile's edge would be kept.
[[nodiscard]] std::optional<FftTiling> make_tiling(const ConvProblem& conv, std::int64_t edge,
                                                   std::int64_t chunk_bytes);

// Makes tiles of 32 along every axis, however short, without slices: for transforms of our own.
[[nodiscard]] std::optional<FftTiling> make_tiling_of_32(const ConvProblem& conv, std::int64_t chunk_bytes);

// Names of the buffers; all scratch is alive in the one stage 0. The spectra of kernels live as long as the plan where
// they are kept.
inline constexpr std::string_view kernels_buffer = "kernels";
inline constexpr std::string_view bias_buffer = "bias";
inline constexpr std::string_view kernel_spectra_buffer = "kernel spectra";
inline constexpr std::string_view input_spectra_buffer = "input spectra";
inline constexpr std::string_view output_spectra_buffer = "output spectra";
inline constexpr std::string_view tiles_buffer = "tiles";
inline constexpr std::string_view slice_spectra_buffer = "slice spectra";
inline constexpr std::string_view fft_area_buffer = "cuFFT work area";
inline constexpr std::string_view blas_area_buffer = "cuBLAS workspace";

[[nodiscard]] MemoryPlan fft_buffers(const ConvProblem& conv, const FftTiling& tiling, bool keep_spectra);

// Returns the buffers without slices: transforms of our own need no scratch but the spectra.
[[nodiscard]] MemoryPlan fft32_buffers(const ConvProblem& conv, const FftTiling& tiling, bool keep_spectra);

// Returns the bytes declared for cuFFT's work area: two copies of a slice's spectra. cuFFT tells its work area on a
// device only; slices are made smaller if it asks for more.
[[nodiscard]] std::int64_t fft_area_bytes(const FftTiling& tiling);

// Return the bytes that one run moves through device memory, kernel spectra made again or read, and the operations of
// its products.
[[nodiscard]] double fft_traffic(const ConvProblem& conv, const FftTiling& tiling, bool keep_spectra);
[[nodiscard]] double fft32_traffic(const ConvProblem& conv, const FftTiling& tiling, bool keep_spectra);
[[nodiscard]] double fft_product_flops(const FftTiling& tiling);

}  // namespace znni::cuda
