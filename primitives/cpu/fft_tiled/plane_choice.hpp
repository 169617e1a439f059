// Chooses the tiles of a convolution of few channels for transforms of planes (whole_tile.hpp), and models its memory
// and time.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// Maximum number of input channels; with more of them a matrix product is faster.
inline constexpr std::int64_t max_plane_inputs = 8;
// Maximum number of output channels; beyond it, the products of extents may not fit.
inline constexpr std::int64_t max_plane_channels = 65536;

// Returns a few tilings, by rising time; none if no tile is large enough for the kernel.
[[nodiscard]] std::vector<Tiling> plane_tilings(const ConvProblem& problem, std::int64_t lanes, const DeviceSpec& spec);

// Returns the number of tiles along all axes; each is a task.
[[nodiscard]] inline std::int64_t tile_count(const Tiling& t) { return mul(t.stacks(), t.tiles().z); }

// Returns Estimate::spread; z is not transformed.
[[nodiscard]] Vec3 plane_spread(const Tiling& tiling);

// Convert a tiling to settings and back.
[[nodiscard]] Variant plane_variant(const Tiling& tiling);
[[nodiscard]] Tiling plane_tiling(const ConvProblem& problem, std::int64_t lanes, const Variant& variant);

// Fills the persistent buffers that plane_estimate() declares.
void keep_plane_spectra(const Tiling& tiling, const TileKernels& kernels, const LayerWeights& weights,
                        std::span<float> spectra, std::span<float> bias);

// Returns one worker's scratch in floats, enough for any of its tasks, in whole cache lines.
[[nodiscard]] std::int64_t plane_scratch(const Tiling& tiling);

// Returns the cost of transforms and products, in operations at the peak rate. `tiles` tiles are read; `planes` planes
// of tiles are written, each with all output channels and `rows` rows.
[[nodiscard]] double plane_flops(const Tiling& tiling, double tiles, double planes, std::int64_t rows);

// Returns the time of one run of all S inputs: the longer of arithmetic at measured fractions of the peak rate and the
// output's way to memory.
[[nodiscard]] Seconds plane_seconds(const Tiling& tiling, const DeviceSpec& spec);

// Returns the estimate from planar to `out`.
[[nodiscard]] Estimate plane_estimate(const Tiling& tiling, const DeviceSpec& spec, Format out);

}  // namespace znni::cpu::fft_tiled
