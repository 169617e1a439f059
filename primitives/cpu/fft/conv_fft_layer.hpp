// Shared parts of the two convolutions by FFT: transforms of the layer's shapes, the places of its kernels, tiles and
// channels, and the refusals.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/cpu/fft/pruned_fft.hpp"

namespace znni::cpu {

// Made by prepare(); all workers read it at the same time.
class ConvFftLayer {
 public:
  // Takes `tiles` from the persistent arena. `device` must have as many workers as the estimate assumed.
  [[nodiscard]] static Result<ConvFftLayer> make(const LayerProblem& problem, const LayerWeights& weights,
                                                 Arena& persistent, Device& device);

  [[nodiscard]] const ConvProblem& problem() const { return problem_; }
  [[nodiscard]] const PrunedForward& channel_fft() const { return channel_fft_; }
  [[nodiscard]] const PrunedForward& kernel_fft() const { return kernel_fft_; }
  [[nodiscard]] const PrunedInverse& output_fft() const { return output_fft_; }
  [[nodiscard]] Vec3 n_fft() const { return n_fft_; }
  // Returns the number of complex values from one transform to the next.
  [[nodiscard]] std::int64_t elements() const { return elements_; }

  // Returns the kernel from input channel i to output channel j.
  [[nodiscard]] ConstVoxels kernel(std::int64_t j, std::int64_t i) const;
  // Returns the scale, bias, residual and activation of output channel j of input s; `inputs` are those of run().
  [[nodiscard]] PrunedInverse::Finish finish(std::span<const TensorView> inputs, std::int64_t s, std::int64_t j) const;
  // Returns the worker's own tile `index`, 0 <= index < tiles_per_worker.
  [[nodiscard]] std::span<Complex> tile(int worker, int index = 0) const;

 private:
  ConvFftLayer(const ConvProblem& problem, const LayerWeights& weights, PrunedForward channel_fft,
               PrunedForward kernel_fft, PrunedInverse output_fft, std::span<Complex> tiles);

  ConvProblem problem_;
  LayerWeights weights_;
  Vec3 n_fft_;
  std::int64_t elements_;
  PrunedForward channel_fft_;
  PrunedForward kernel_fft_;
  PrunedInverse output_fft_;
  std::span<Complex> tiles_;
};

// Returns the problem as a convolution, or the refusal of primitive `name`.
[[nodiscard]] Result<ConvProblem> as_convolution(std::string_view name, const LayerProblem& problem);

// Returns Primitive::min_time of both.
[[nodiscard]] Seconds min_conv_fft_time(const LayerProblem& problem, const DeviceSpec& spec);

// Returns the start of an even share of `count` items: part `part` is [share_begin(count, part, parts),
// share_begin(count, part + 1, parts)).
[[nodiscard]] constexpr std::int64_t share_begin(std::int64_t count, std::int64_t part, std::int64_t parts) {
  return count / parts * part + count % parts * part / parts;
}

}  // namespace znni::cpu
