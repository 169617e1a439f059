// A bound on the modelled time of the tiled FFT convolution, without a choice of tiles.
#pragma once

#include "primitives/core/primitive.hpp"

namespace znni::cpu::fft_tiled {

// Returns a lower bound of tile_seconds() of every plan that tile_plans() offers, a few percent below the fastest.
// Requires blocks of `lanes` channels and a kernel that some tile is large enough for.
[[nodiscard]] Seconds min_tile_seconds(const ConvProblem& layer, std::int64_t lanes, const DeviceSpec& spec);

}  // namespace znni::cpu::fft_tiled
