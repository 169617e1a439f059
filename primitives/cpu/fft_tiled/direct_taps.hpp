// Inputs of the direct algorithm (direct_rows.hpp): the weights of blocks of output channels, and the offsets of the
// voxels of its taps.
#pragma once

#include <span>

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// Returns the number of taps of all input channels together.
[[nodiscard]] std::int64_t tap_count(const ConvProblem& conv);

// Maximum number of taps for planar input: 16 KiB of weights for each block stay in the first-level cache.
inline constexpr std::int64_t max_planar_taps = 256;

// Measured fraction of the peak rate.
inline constexpr double tap_efficiency = 0.95;

// Packs the kernels as [out_blocks][tap][lane], zeros in padding lanes. `kernels` is laid out as in LayerWeights.
void pack_taps(const Tiling& tiling, std::span<const float> kernels, std::span<float> packed);

// Returns the number of taps of all blocks of input channels together.
[[nodiscard]] std::int64_t narrow_tap_count(const Tiling& tiling);

// Packs the kernels as [tap][output channel][lane of an input block], zeros in padding lanes.
void pack_narrow_taps(const Tiling& tiling, std::span<const float> kernels, std::span<float> packed);

// Computes the distance in floats from the voxel of the first tap to that of each tap. `places` has one element for
// each tap.
void place_taps(const ConvProblem& conv, const TensorView& in, std::span<std::int64_t> places);
// Computes the same for taps of blocks of a blocked input.
void place_narrow_taps(const ConvProblem& conv, const TensorView& in, std::span<std::int64_t> places);

}  // namespace znni::cpu::fft_tiled
