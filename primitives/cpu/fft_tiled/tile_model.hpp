// Modelled time of a tiled FFT convolution: its stages' arithmetic at measured fractions of the peak rate, against its
// traffic at the memory's rate.
#pragma once

#include "primitives/cpu/fft_tiled/tile_memory.hpp"

namespace znni::cpu::fft_tiled {

// Returns the faster form of the products for this many tiles of a batch. Three products save arithmetic for every
// tile; four save the preparation of each kernel spectrum.
[[nodiscard]] Products cheaper_products(std::int64_t tiles_per_batch);

// The work of one run of all S inputs.
struct TileWork {
  double products = 0;    // operations
  double transforms = 0;  // operations, of channels and of kernels
  double finishing = 0;   // operations of activations with an exponential
  double bytes = 0;       // moved

  // Returns products and transforms in operations at the peak rate.
  [[nodiscard]] double operations() const;
  [[nodiscard]] Seconds seconds(double flops_per_second, double bytes_per_second) const;
};

// Holds the terms that do not depend on the number of stacks that share a pass over the kernel spectra. They are
// computed once, because a search asks for hundreds of plans for each layer.
class TileModel {
 public:
  // Computes the terms; ignores tiling.stacks_per_batch.
  TileModel(const Tiling& tiling, const DeviceSpec& spec);

  [[nodiscard]] std::int64_t stacks() const { return stacks_; }    // of the layer
  [[nodiscard]] std::int64_t tiles_z() const { return tiles_z_; }  // of a stack

  // Returns the time of one run of all S inputs.
  [[nodiscard]] Seconds seconds(std::int64_t stacks_per_batch, bool keep_spectra, Products products) const;
  // Returns the same if each of `workers` threads computes whole batches.
  [[nodiscard]] Seconds own_seconds(std::int64_t stacks_per_batch, int workers, Products products,
                                    bool keep_spectra) const;

 private:
  double flops_per_second_;
  double bytes_per_second_;
  std::int64_t stacks_;
  std::int64_t tiles_z_;
  std::int64_t group_;  // stacks that share vectors; products have those that the last group lacks, too
  double frequencies_;  // of a tile
  double pairs_;        // pairs of a channel read and a lane written, with channels that pad packed products
  double transforms_;   // operations of the channels' transforms
  double kernel_transforms_;
  double finishing_;      // operations of activations with an exponential
  double kernel_bytes_;   // of the kernels' spectra
  double spectra_bytes_;  // bytes moved for the tiles' spectra
  double tensor_bytes_;
  double residual_bytes_;
};

// Returns the time of one run of all S inputs.
[[nodiscard]] Seconds tile_seconds(const TilePlan& plan, const DeviceSpec& spec);

}  // namespace znni::cpu::fft_tiled
