// Chooses the tiles that a layer offers. All triples of extents are costed; only the few that no other triple beats are
// kept.
#pragma once

#include <utility>
#include <vector>

#include "primitives/cpu/fft_tiled/tile_memory.hpp"

namespace znni::cpu::fft_tiled {

// Returns extents of tiles along one axis, falling, a few. It returns only the shortest of those that cut the output
// into equally many tiles. Requires a problem without dilation. `has_border`: as of the tiling.
[[nodiscard]] std::vector<std::int64_t> extents_along(const ConvProblem& problem, int axis, bool has_border = false);

// Returns the most tiles that share a pass over the kernel spectra, where a stack has `tiles_z`.
[[nodiscard]] std::int64_t max_tiles_per_batch(std::int64_t tiles_z);

// Returns the plans by rising time; none if no tile is large enough for the kernel.
[[nodiscard]] std::vector<TilePlan> tile_plans(const ConvProblem& problem, const TileKernels& kernels,
                                               const DeviceSpec& spec);

// Returns pairs of input and output formats. Tensors with fewer channels than lanes may also be read or written planar.
[[nodiscard]] std::vector<std::pair<Format, Format>> tile_formats(const ConvProblem& problem, const DeviceSpec& spec);

// Convert a plan to settings and back.
[[nodiscard]] Variant variant_of(const TilePlan& plan);
[[nodiscard]] TilePlan tile_plan(const ConvProblem& problem, const TileKernels& kernels, const Variant& variant);

[[nodiscard]] Estimate estimate_of(const ConvProblem& problem, const TilePlan& plan, const TileKernels& kernels,
                                   const DeviceSpec& spec, Format in, Format out);

}  // namespace znni::cpu::fft_tiled
