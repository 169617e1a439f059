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
  // Each worker computes whole batches, whose spectra stay in its own cache. Only kernels of one tap along z have such
  // small batches: every plane is by itself.
  bool own_batches = false;

  // Returns the number of batches held at once.
  [[nodiscard]] std::int64_t held(int workers) const { return own_batches ? workers : slots; }
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

// Holds the terms of a layer's bytes that do not depend on the number of stacks of a batch. They are computed once,
// because a search asks for hundreds of plans for each layer.
class TileByteModel {
 public:
  // Computes the terms; ignores tiling.stacks_per_batch. Each of `workers` threads has its own scratch.
  TileByteModel(const Tiling& tiling, const TileKernels& kernels, int workers);

  [[nodiscard]] std::int64_t kernel_spectra() const { return kernel_spectra_; }
  [[nodiscard]] std::int64_t bias() const { return bias_; }
  // Returns the bytes of the tiles' spectra if `slots` batches of so many stacks are held at once.
  [[nodiscard]] std::int64_t tile_spectra(std::int64_t stacks_per_batch, std::int64_t slots) const;
  // Returns the bytes of all workers.
  [[nodiscard]] std::int64_t scratch(std::int64_t stacks_per_batch, Products products, bool keep_spectra) const;
  [[nodiscard]] TileBytes bytes(std::int64_t stacks_per_batch, std::int64_t slots, Products products,
                                bool keep_spectra) const;

 private:
  int workers_;
  ChannelSplit in_;
  ChannelSplit out_;
  std::int64_t group_;
  bool packs_;
  std::int64_t tiles_z_;
  std::int64_t frequencies_z_;
  std::int64_t planes_;
  std::int64_t columns_;
  std::int64_t block_step_;
  std::int64_t stack_step_;
  std::int64_t group_step_;
  std::int64_t plane_floats_;
  std::int64_t line_floats_;
  std::int64_t three_products_;  // floats of product_scratch()
  std::int64_t four_products_;
  std::int64_t spectra_floats_;  // of spectra_scratch()
  std::int64_t kernel_spectra_;
  std::int64_t bias_;
};

// Declares all buffers of a layer, `problem`, in one stage, because input and output of different tiles are alive
// together.
[[nodiscard]] MemoryPlan tile_memory(const ConvProblem& problem, const TilePlan& plan, const TileKernels& kernels,
                                     int workers, Format in, Format out);

}  // namespace znni::cpu::fft_tiled
