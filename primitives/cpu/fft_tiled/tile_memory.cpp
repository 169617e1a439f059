#include "primitives/cpu/fft_tiled/tile_memory.hpp"

#include <algorithm>

#include "primitives/cpu/device/estimates.hpp"

namespace znni::cpu::fft_tiled {
namespace {

std::int64_t kernel_spectra_bytes(const Tiling& t) { return float_bytes(mul(t.columns(), kernel_column_floats(t))); }

std::int64_t tile_spectra_bytes(const TilePlan& plan) {
  return float_bytes(mul(plan.slots, mul(plan.tiling.columns(), plan.tiling.column_step())));
}

std::int64_t bias_bytes(const Tiling& t) { return float_bytes(t.out_blocks() * t.lanes); }

// Returns the bytes of all workers if each has `floats` in whole cache lines.
std::int64_t worker_bytes(std::int64_t floats, int workers) {
  return mul(workers, round_up(float_bytes(floats), buffer_alignment));
}

std::int64_t column_or_plane_scratch(const TilePlan& plan, const TileKernels& kernels) {
  const Tiling& t = plan.tiling;
  return std::max({forward_scratch(t), inverse_scratch(t), column_scratch(t, kernels, plan.products)});
}

std::int64_t scratch_bytes(const TilePlan& plan, const TileKernels& kernels, int workers) {
  const std::int64_t floats = column_or_plane_scratch(plan, kernels);
  return worker_bytes(plan.keep_spectra ? floats : std::max(floats, spectra_scratch(plan.tiling)), workers);
}

}  // namespace

BothTileBytes tile_bytes(const TilePlan& plan, const TileKernels& kernels, int workers) {
  const std::int64_t spectra = kernel_spectra_bytes(plan.tiling);
  const std::int64_t bias = bias_bytes(plan.tiling);
  const std::int64_t tiles = tile_spectra_bytes(plan);
  const std::int64_t floats = column_or_plane_scratch(plan, kernels);
  const std::int64_t more = std::max(floats, spectra_scratch(plan.tiling));
  return {{add(bias, spectra), add(tiles, worker_bytes(floats, workers))},
          {bias, add(add(tiles, worker_bytes(more, workers)), spectra)}};
}

MemoryPlan tile_memory(const TilePlan& plan, const TileKernels& kernels, int workers, Format in, Format out) {
  MemoryPlan memory = input_output_buffers(plan.tiling.problem, in, out);
  const auto declare = [&](std::string_view name, std::int64_t bytes, Lifetime lifetime) {
    memory.push_back({std::string(name), MemorySpace::host, bytes, lifetime});
  };
  const Lifetime run = Lifetime::stages(0, 0);
  declare(kernel_spectra_name, kernel_spectra_bytes(plan.tiling), plan.keep_spectra ? Lifetime::plan() : run);
  declare(bias_name, bias_bytes(plan.tiling), Lifetime::plan());
  declare(tile_spectra_name, tile_spectra_bytes(plan), run);
  declare(worker_scratch_name, scratch_bytes(plan, kernels, workers), run);
  return memory;
}

}  // namespace znni::cpu::fft_tiled
