// How a convolution of few images is cut for transforms of planes (whole_tile.hpp), what that holds and how long it
// takes.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// Input images: more are better off with a product of matrices.
inline constexpr std::int64_t most_plane_inputs = 8;
// Output images: beyond, the products of extents are no longer sure to fit.
inline constexpr std::int64_t most_plane_images = 65536;

// A few tilings, by rising time; empty where no tile takes the kernel.
[[nodiscard]] std::vector<Tiling> plane_tilings(const ConvProblem& problem, std::int64_t lanes, const DeviceSpec& spec);

// Tiles along all axes; each is a task.
[[nodiscard]] inline std::int64_t tile_count(const Tiling& t) { return mul(t.stacks(), t.tiles().z); }

// Estimate::spread: z is not transformed.
[[nodiscard]] Vec3 plane_spread(const Tiling& tiling);

// A tiling as settings, and back.
[[nodiscard]] Variant plane_variant(const Tiling& tiling);
[[nodiscard]] Tiling plane_tiling(const ConvProblem& problem, std::int64_t lanes, const Variant& variant);

// Fills what plane_estimate() declares to be kept.
void keep_plane_spectra(const Tiling& tiling, const TileKernels& kernels, const LayerWeights& weights,
                        std::span<float> spectra, std::span<float> bias);

// Floats of one worker: any of its tasks, whole cache lines.
[[nodiscard]] std::int64_t plane_scratch(const Tiling& tiling);

// What transforms and products cost, in operations at the peak rate: of `tiles` read, of `planes` of all images' tiles
// that are written, of each of which `rows` are.
[[nodiscard]] double plane_flops(const Tiling& tiling, double tiles, double planes, std::int64_t rows);

// One run, all S inputs: arithmetic at measured fractions of the peak rate, against the output's way to memory.
[[nodiscard]] Seconds plane_seconds(const Tiling& tiling, const DeviceSpec& spec);

// From planar to `out`.
[[nodiscard]] Estimate plane_estimate(const Tiling& tiling, const DeviceSpec& spec, Format out);

}  // namespace znni::cpu::fft_tiled
