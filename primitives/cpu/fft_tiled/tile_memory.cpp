#include "primitives/cpu/fft_tiled/tile_memory.hpp"

#include <algorithm>

#include "primitives/cpu/estimates.hpp"

namespace znni::cpu::fft_tiled {
namespace {

std::int64_t kernel_spectra_bytes(const Tiling& t) { return float_bytes(mul(t.columns(), kernel_column_floats(t))); }

std::int64_t tile_spectra_bytes(const TilePlan& plan) {
  return float_bytes(mul(plan.slots, mul(plan.tiling.columns(), plan.tiling.column_step())));
}

std::int64_t bias_bytes(const Tiling& t) { return float_bytes(t.out_blocks() * t.lanes); }

// Of all workers; each has whole cache lines.
std::int64_t scratch_bytes(const TilePlan& plan, const TileKernels& kernels, int workers) {
  const Tiling& t = plan.tiling;
  const std::int64_t transforms = std::max(forward_scratch(t), inverse_scratch(t));
  const std::int64_t spectra = plan.keep_spectra ? 0 : spectra_scratch(t);
  const std::int64_t floats = std::max({transforms, column_scratch(t, kernels, plan.products), spectra});
  return mul(workers, round_up(float_bytes(floats), buffer_alignment));
}

}  // namespace

TileBytes tile_bytes(const TilePlan& plan, const TileKernels& kernels, int workers) {
  const std::int64_t spectra = kernel_spectra_bytes(plan.tiling);
  const std::int64_t scratch = add(tile_spectra_bytes(plan), scratch_bytes(plan, kernels, workers));
  return {add(bias_bytes(plan.tiling), plan.keep_spectra ? spectra : 0), add(scratch, plan.keep_spectra ? 0 : spectra)};
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
