// What the tiled FFT convolution holds, in bytes, as declared to the planner and granted by the arena.
#pragma once

#include <string_view>

#include "primitives/core/primitive.hpp"
#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// One way to run a layer.
struct TilePlan {
  Tiling tiling;
  std::int64_t slots = 1;    // batches that are held at once: 2 let transforms and products overlap
  bool keep_spectra = true;  // of the kernels, for ever; otherwise computed in every run, into scratch
  Products products = Products::three;
};

inline constexpr std::string_view kernel_spectra_name = "kernel spectra";
inline constexpr std::string_view tile_spectra_name = "tile spectra";
inline constexpr std::string_view worker_scratch_name = "worker scratch";
inline constexpr std::string_view bias_name = "bias";

// Beside input and output.
struct TileBytes {
  std::int64_t persistent = 0;
  std::int64_t scratch = 0;
};
// Of a plan that keeps the kernels' spectra, and of the same plan where it computes them in every run.
struct BothTileBytes {
  TileBytes kept;
  TileBytes computed;
};
[[nodiscard]] BothTileBytes tile_bytes(const TilePlan& plan, const TileKernels& kernels, int workers);

// Everything in one stage: input and output of different tiles are alive together.
[[nodiscard]] MemoryPlan tile_memory(const TilePlan& plan, const TileKernels& kernels, int workers, Format in,
                                     Format out);

}  // namespace znni::cpu::fft_tiled
