// One layer in memory of its own on a GPU, to be run again and again.
#pragma once

#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/cuda/device/cuda_device.hpp"

namespace znni::gpu_bench {

// Tensors and scratch lie in `block` (device memory, at least packed_bytes()), persistent buffers in reservations of
// their own. `weights` must outlive it.
class LayerRun {
 public:
  [[nodiscard]] static std::int64_t packed_bytes(const Estimate& estimate) {
    return pack(estimate.memory, MemorySpace::device).bytes;
  }
  [[nodiscard]] static Result<LayerRun> make(const Primitive& primitive, const LayerProblem& problem,
                                             const Estimate& estimate, const LayerWeights& weights, std::byte* block,
                                             cuda::CudaDevice& device);

  // Returns the input within the block.
  [[nodiscard]] TensorView input() const { return view_of("input 0", input_shape(problem_, 0), estimate_.in); }
  [[nodiscard]] TensorView output() const { return view_of(output_name, output_shape(problem_), estimate_.out); }

  // Reads and writes the block's own tensors, or those given.
  [[nodiscard]] Result<void> run() { return run(input(), output()); }
  [[nodiscard]] Result<void> run(const TensorView& in, const TensorView& out);

 private:
  [[nodiscard]] TensorView view_of(std::string_view name, const Shape5& shape, Format format) const;

  LayerProblem problem_;
  Estimate estimate_;
  std::vector<Placement> placements_;
  std::vector<Reservation> persistent_;
  std::unique_ptr<PreparedLayer> layer_;
};

// Returns deterministic values around zero: kernels as He et al. scale them, biases small.
[[nodiscard]] std::vector<float> made_values(std::int64_t count, double deviation, std::uint64_t seed);

}  // namespace znni::gpu_bench
