// How long a tiled FFT convolution takes, by formula: its stages' arithmetic at measured fractions of the peak rate,
// against its traffic at the memory's rate.
#pragma once

#include "primitives/cpu/fft_tiled/tile_memory.hpp"

namespace znni::cpu::fft_tiled {

// The form of the products that takes less time for so many tiles of a batch: three save arithmetic for every one of
// them, four what it takes to prepare each kernel spectrum.
[[nodiscard]] Products cheaper_products(std::int64_t tiles_per_batch);

// What is the same for all numbers of stacks that share a pass over the kernel spectra, counted once: a search asks for
// hundreds of plans of every layer that it looks at.
class TileModel {
 public:
  // Looks at no stacks_per_batch.
  TileModel(const Tiling& tiling, const DeviceSpec& spec);

  [[nodiscard]] std::int64_t stacks() const { return stacks_; }    // of the layer
  [[nodiscard]] std::int64_t tiles_z() const { return tiles_z_; }  // of a stack

  // One run, all S inputs.
  [[nodiscard]] Seconds seconds(std::int64_t stacks_per_batch, bool keep_spectra, Products products) const;

 private:
  double flops_per_second_;
  double bytes_per_second_;
  std::int64_t stacks_;
  std::int64_t tiles_z_;
  double frequencies_;  // of a tile
  double pairs_;        // of images read and lanes written
  double transforms_;   // operations; of images
  double kernel_transforms_;
  double finishing_;      // operations of activations with an exponential
  double kernel_bytes_;   // of the kernels' spectra
  double spectra_bytes_;  // moved; of tiles
  double tensor_bytes_;
  double residual_bytes_;
};

// One run, all S inputs.
[[nodiscard]] Seconds tile_seconds(const TilePlan& plan, const DeviceSpec& spec);

}  // namespace znni::cpu::fft_tiled
