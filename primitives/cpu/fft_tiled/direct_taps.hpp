// What the direct algorithm (direct_rows.hpp) reads: the weights of blocks of output images, and where the voxels of
// its taps lie.
#pragma once

#include <span>

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// Of all input images together.
[[nodiscard]] std::int64_t tap_count(const ConvProblem& conv);

// Planar images: 16 KiB of weights for each block stay in the first-level cache.
inline constexpr std::int64_t most_planar_taps = 256;

// Fraction of the peak rate, measured.
inline constexpr double tap_efficiency = 0.95;

// [out_blocks][tap][lane], zeros in padding lanes. `kernels` as in LayerWeights.
void pack_taps(const Tiling& tiling, std::span<const float> kernels, std::span<float> packed);

// Floats from the voxel of the first tap to each. `places` has one for each tap.
void place_taps(const ConvProblem& conv, const TensorView& in, std::span<std::int64_t> places);

}  // namespace znni::cpu::fft_tiled
