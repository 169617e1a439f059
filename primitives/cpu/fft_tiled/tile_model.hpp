// How long a tiled FFT convolution takes, by formula: its stages' arithmetic at measured fractions of the peak rate,
// against its traffic at the memory's rate.
#pragma once

#include "primitives/cpu/fft_tiled/tile_memory.hpp"

namespace znni::cpu::fft_tiled {

// The form of the products that takes less time: three save arithmetic for every tile of a batch, four what it takes to
// prepare each kernel spectrum for them.
[[nodiscard]] Products cheaper_products(const Tiling& tiling);

// One run, all S inputs.
[[nodiscard]] Seconds tile_seconds(const TilePlan& plan, const DeviceSpec& spec);

}  // namespace znni::cpu::fft_tiled
