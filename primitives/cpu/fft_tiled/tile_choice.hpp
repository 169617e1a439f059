// Which tiles a layer is offered with. All triples of extents are costed; the few that no other beats are kept.
#pragma once

#include <utility>
#include <vector>

#include "primitives/cpu/fft_tiled/tile_memory.hpp"

namespace znni::cpu::fft_tiled {

// By rising time. Empty where no tile takes the kernel.
[[nodiscard]] std::vector<TilePlan> tile_plans(const ConvProblem& problem, const TileKernels& kernels,
                                               const DeviceSpec& spec);

// Input and output formats. Fewer images than lanes may also be read or written planar.
[[nodiscard]] std::vector<std::pair<Format, Format>> tile_formats(const ConvProblem& problem, const DeviceSpec& spec);

// A plan as settings, and back.
[[nodiscard]] Variant variant_of(const TilePlan& plan);
[[nodiscard]] TilePlan tile_plan(const ConvProblem& problem, const TileKernels& kernels, const Variant& variant);

[[nodiscard]] Estimate estimate_of(const TilePlan& plan, const TileKernels& kernels, const DeviceSpec& spec, Format in,
                                   Format out);

}  // namespace znni::cpu::fft_tiled
