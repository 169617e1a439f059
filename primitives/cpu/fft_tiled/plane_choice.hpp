// How a convolution of few images is cut for transforms of planes (whole_tile.hpp), what that holds and how long it
// takes.
#pragma once

#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// A few tilings, by rising time; empty where no tile takes the kernel.
[[nodiscard]] std::vector<Tiling> plane_tilings(const ConvProblem& problem, std::int64_t lanes, const DeviceSpec& spec);

// Tiles along all axes; each is a task.
[[nodiscard]] inline std::int64_t tile_count(const Tiling& t) { return mul(t.stacks(), t.tiles().z); }

// A tiling as settings, and back.
[[nodiscard]] Variant plane_variant(const Tiling& tiling);
[[nodiscard]] Tiling plane_tiling(const ConvProblem& problem, std::int64_t lanes, const Variant& variant);

// Floats of one worker: any of its tasks, whole cache lines.
[[nodiscard]] std::int64_t plane_scratch(const Tiling& tiling);

// One run, all S inputs: arithmetic at measured fractions of the peak rate, against the output's way to memory.
[[nodiscard]] Seconds plane_seconds(const Tiling& tiling, const DeviceSpec& spec);

// From planar to `out`.
[[nodiscard]] Estimate plane_estimate(const Tiling& tiling, const DeviceSpec& spec, Format out);

}  // namespace znni::cpu::fft_tiled
