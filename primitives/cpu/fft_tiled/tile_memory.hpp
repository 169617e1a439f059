// Memory of the tiled FFT convolution in bytes, as the planner gets it and the arena grants it.
#pragma once

#include <string_view>

#include "primitives/core/primitive.hpp"
#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// One way to run a layer.
struct TilePlan {
  Tiling tiling;
  std::int64_t slots = 1;    // batches held at once; 2 let transforms and products overlap
  bool keep_spectra = true;  // persistent kernel spectra; else every run computes them into scratch
  Products products = Products::three;
};

inline constexpr std::string_view kernel_spectra_name = "kernel spectra";
inline constexpr std::string_view tile_spectra_name = "tile spectra";
inline constexpr std::string_view worker_scratch_name = "worker scratch";
inline constexpr std::string_view bias_name = "bias";

// Bytes beside input and output.
struct TileBytes {
  std::int64_t persistent = 0;
  std::int64_t scratch = 0;
};
// Bytes of a plan that keeps the kernels' spectra, and of the same plan if every run computes them.
struct BothTileBytes {
  TileBytes kept;
  TileBytes computed;
};
[[nodiscard]] BothTileBytes tile_bytes(const TilePlan& plan, const TileKernels& kernels, int workers);

// Declares all buffers in one stage, because input and output of different tiles are alive together.
[[nodiscard]] MemoryPlan tile_memory(const TilePlan& plan, const TileKernels& kernels, int workers, Format in,
                                     Format out);

}  // namespace znni::cpu::fft_tiled
