// Products of spectra by a kernel of our own (primitives/gpu/products_element.hpp), for devices whose matrix units take
// TF32.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace znni::cuda {

// Spectra are [frequency][column]; columns of kernels are [f_out][f], of inputs [tile][f], of outputs [tile][f_out].
struct SpectraProduct {
  std::int64_t f = 1;
  std::int64_t f_out = 1;
  std::int64_t tiles = 1;
  std::int64_t frequencies = 1;
  const float2* kernels = nullptr;
  const float2* inputs = nullptr;
  float2* outputs = nullptr;
};

// Launches outputs[tile][j] = sum over i of inputs[tile][i] conj(kernels[j][i]) for every frequency, as exact as in
// float32 (complex_mma.hpp has the bound). Spectra begin at multiples of 16 bytes. Returns the launch's status;
// allocates nothing.
cudaError_t launch_products(const SpectraProduct& product, cudaStream_t stream);

}  // namespace znni::cuda
