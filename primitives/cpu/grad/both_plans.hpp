// Ways to compute the gradients of a convolution's input and kernels together, by spectra of tiles: tiles, memory,
// modelled time. The tilings are those of the turned convolution (turned.hpp): windows of the output's gradient, with
// its zeros, and m voxels of the input, which are those of its gradient. A tile as long as the input covers it whole.
#pragma once

#include <string_view>
#include <vector>

#include "primitives/cpu/grad/weights_plans.hpp"

namespace znni::cpu::fft_tiled {

inline constexpr std::string_view bias_sums_name = "sums of bias";

// Returns the tilings worth offering, as weights_tilings() does.
[[nodiscard]] std::vector<Tiling> both_tilings(const ConvProblem& conv, const TileKernels& kernels,
                                               const DeviceSpec& spec);
[[nodiscard]] Tiling both_tiling(const ConvProblem& conv, const TileKernels& kernels, const Variant& variant);

// Returns how the kernels are multiplied with the spectra of a batch.
[[nodiscard]] Products both_products(const Tiling& tiling);

// Returns the floats that one worker needs for any of its tasks, in whole cache lines.
[[nodiscard]] std::int64_t both_worker_floats(const Tiling& tiling, const TileKernels& kernels);

// Returns the doubles of a plane's sums: an output channel each, padding included.
[[nodiscard]] inline std::int64_t bias_row(const Tiling& tiling) { return tiling.in_blocks() * tiling.lanes; }

// Declares all buffers of the gradients of `conv` in one stage.
[[nodiscard]] MemoryPlan both_memory(const ConvProblem& conv, const Tiling& tiling, const TileKernels& kernels,
                                     int workers, Format in, Format out);

[[nodiscard]] Seconds both_seconds(const Tiling& tiling, const DeviceSpec& spec);

}  // namespace znni::cpu::fft_tiled
