// Runs one primitive of the CUDA back end on a GPU: transient buffers packed in one block, poisoned before each run,
// all in device memory; tensors of any element type.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/cuda/cuda_device.hpp"

namespace znni::cuda {

// Two runs of `estimate`, which must agree in every bit; dense planar floats in and out.
[[nodiscard]] Result<std::vector<float>> run_twice(const Primitive& primitive, const LayerProblem& problem,
                                                   const Estimate& estimate, const LayerWeights& weights,
                                                   std::span<const std::vector<float>> inputs, CudaDevice& device);

// Random data through every estimate of `primitive` for `problem`, compared with the oracle: strictly where all is
// float32, by the norm of the difference where products are rounded.
void check_on_gpu(const Primitive& primitive, const LayerProblem& problem, CudaDevice& device, std::uint64_t seed);

}  // namespace znni::cuda
