// Parts of the kernels' gradient by tiled spectra that depend on the instruction set, as tables of functions. X are the
// spectra of the input's tiles, and G those of the output's gradient, each on its m voxels and zero beyond. The
// gradient is the inverse of the sum over tiles of X conj(G), on the kernel's extent. Nothing wraps around where
// m + k = T + 1. A tile as long as an input with zeros around it has more voxels, and only zeros wrap around.
// Spectra of tiles lie as in fft_tiled/tiling.hpp. The sums are transformed back along z while they are in the worker's
// cache, so that k.z planes of them are kept instead of T.z. They lie [column][input channel][output block][z][re |
// im][lane], so that all planes of a pair of channels are read at once.
#pragma once

#include <utility>

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// Returns the tiling by which the output's gradient is transformed: that of the convolution, its channels swapped.
[[nodiscard]] inline Tiling tiling_of_output(Tiling t) {
  std::swap(t.problem.in.f, t.problem.f_out);
  return t;
}

// One column of a batch: the products of its frequencies, added to the sums.
struct WeightsColumnTask {
  const Tiling* tiling = nullptr;  // of the convolution
  std::int64_t stacks = 0;         // of this batch
  std::int64_t column = 0;         // number of the column
  bool adds = false;               // false in the first batch, which overwrites the sums
  float* input = nullptr;          // spectra of the column, all planes; only read unless there are kernels
  const float* output = nullptr;
  float* sums = nullptr;     // of the column: weights_column_floats()
  float* scratch = nullptr;  // weights_column_scratch() floats; with kernels at least column_scratch()
  // Spectra of the column's kernels, by which the input's spectra are then multiplied, as in a convolution; null if
  // the convolution is not computed.
  const float* kernels = nullptr;
  Products products = Products::four;
};

// The kernels from one input channel: sums -> taps.
struct WeightsInverseTask {
  const Tiling* tiling = nullptr;
  const float* sums = nullptr;  // of all columns
  std::int64_t channel = 0;
  const TensorView* kernels = nullptr;  // planar, S = f_out, f = f, n = k
  float* scratch = nullptr;             // weights_inverse_scratch() floats
};

struct WeightsKernels {
  void (*column)(const WeightsColumnTask&) = nullptr;
  void (*inverse)(const WeightsInverseTask&) = nullptr;
};

// Returns the table for registers of `simd_floats` floats; nullptr if this build has none.
[[nodiscard]] const WeightsKernels* weights_kernels(int simd_floats);

// Sizes in floats; those that grow with f f_out saturate.
[[nodiscard]] inline std::int64_t weights_column_floats(const Tiling& t) {
  return mul(t.problem.k.z * t.problem.in.f, t.out_blocks() * t.block_step());
}
// Returns the distance between frequencies of the sums of one block of input channels: one pair more than needed, so
// that they do not map to the same cache sets.
[[nodiscard]] inline std::int64_t weights_frequency_step(const Tiling& t) {
  return (t.lanes * t.out_blocks() + 1) * t.block_step();
}
[[nodiscard]] inline std::int64_t weights_column_scratch(const Tiling& t) {
  const std::int64_t tiles = mul(2 * t.T.z * column_rows(t), t.stack_step());
  return add(tiles, t.T.z * (weights_frequency_step(t) + t.block_step()));
}
// Returns the floats for the planes of taps of one block, and for their rows.
[[nodiscard]] inline std::int64_t weights_inverse_scratch(const Tiling& t) {
  return t.problem.k.z * (plane_floats(t) + t.problem.k.y * t.T.x * t.lanes);
}

}  // namespace znni::cpu::fft_tiled
