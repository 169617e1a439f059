// Transforms of the two tensors whose tiles are multiplied for a gradient of kernels, as tasks of a batch. Of the one
// they take windows of T voxels, which overlap; of the other m voxels, with zeros behind them.
#pragma once

#include "primitives/cpu/grad/weights_tiles.hpp"

namespace znni::cpu::fft_tiled {

class TileTransforms {
 public:
  // `tiling` is that of the convolution whose kernels have the gradient: windows are of its input.
  TileTransforms(const Tiling& tiling, const TileKernels& kernels)
      : tiling_(tiling), of_output_(tiling_of_output(tiling)), kernels_(kernels) {}

  [[nodiscard]] std::int64_t window_tasks(std::int64_t batch) const;
  [[nodiscard]] std::int64_t tile_tasks(std::int64_t batch) const;
  // Run one task: write to the spectra of the batch, with forward_scratch() floats of the tiling or of that of the
  // output. `border`: zeros around `in`, which are part of the convolution's input.
  void transform_window(const TensorView& in, Vec3 border, std::int64_t batch, std::int64_t task, float* spectra,
                        float* scratch) const;
  void transform_tile(const TensorView& out, std::int64_t batch, std::int64_t task, float* spectra,
                      float* scratch) const;

 private:
  Tiling tiling_;
  Tiling of_output_;
  const TileKernels& kernels_;
};

}  // namespace znni::cpu::fft_tiled
