// Ways to compute the kernels' gradient by tiled spectra: tiles, memory, modelled time. The best tile is another than
// that of the convolution, because kernels are transformed once for all tiles in both.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "primitives/core/gradient.hpp"
#include "primitives/cpu/grad/weights_tiles.hpp"

namespace znni::cpu::fft_tiled {

inline constexpr std::string_view input_spectra_name = "input spectra";
inline constexpr std::string_view gradient_spectra_name = "gradient spectra";
inline constexpr std::string_view weights_sums_name = "sums of kernels";
inline constexpr std::string_view gradient_scratch_name = "worker scratch";

// Returns the tilings worth offering, by rising modelled time: with all stacks in one batch, and with few in each,
// which need less memory. None if no tile is large enough for the kernel.
[[nodiscard]] std::vector<Tiling> weights_tilings(const ConvProblem& conv, const TileKernels& kernels,
                                                  const DeviceSpec& spec);

// Convert a tiling to settings and back. That of a dilated convolution has its phases.
[[nodiscard]] Variant variant_of(const Tiling& tiling);
[[nodiscard]] Tiling weights_tiling(const ConvProblem& conv, const TileKernels& kernels, const Variant& variant);

// Returns the floats that one worker needs for any of its tasks, in whole cache lines.
[[nodiscard]] std::int64_t weights_worker_floats(const Tiling& tiling);

// Declares all buffers in one stage. Tensors that are read have the format `in`.
[[nodiscard]] MemoryPlan weights_memory(const ConvProblem& conv, const Tiling& tiling, int workers, Format in);

[[nodiscard]] Seconds weights_seconds(const Tiling& tiling, const DeviceSpec& spec);

// The parts of these that the gradients of both have, too (both_plans.hpp).

// Returns the number of floats in whole cache lines.
[[nodiscard]] std::int64_t whole_lines(std::int64_t floats);
// Declares so many floats, alive in the only stage.
void declare_floats(MemoryPlan& memory, std::string_view name, std::int64_t floats);
// Operations, and bytes moved.
struct GradientWork {
  double transforms = 0;
  double products = 0;
  double bytes = 0;
};
[[nodiscard]] GradientWork weights_work(const Tiling& tiling);
[[nodiscard]] Seconds seconds_of(const GradientWork& work, const DeviceSpec& spec);
// Return the operations to transform a plane of one channel along y and x, and its columns of one tile along z.
[[nodiscard]] double plane_operations(const Tiling& tiling);
[[nodiscard]] double line_operations(const Tiling& tiling);
// Returns tilings as weights_tilings() does, by rising `seconds`: `tiling` with other extents and batches.
[[nodiscard]] std::vector<Tiling> fastest_tilings(Tiling tiling, const std::function<Seconds(const Tiling&)>& seconds);

}  // namespace znni::cpu::fft_tiled
