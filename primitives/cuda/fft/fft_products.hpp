// The middle of a convolution by FFT: one complex matrix product per frequency, by cuBLAS.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>

#include "primitives/core/result.hpp"
#include "primitives/cuda/kernels/products_kernel.hpp"

namespace znni::cuda {

// Binds the handle to the stream and gives it its workspace; before each run, because binding takes the workspace away.
[[nodiscard]] Result<void> lend_workspace(cublasHandle_t blas, cudaStream_t stream, std::span<std::byte> workspace);

// Computes outputs[tile][j] = sum over i of conj(kernels[j][i]) inputs[tile][i], for every frequency: the conjugate
// makes a correlation of the convolution. `tf32` rounds the products.
[[nodiscard]] Result<void> multiply_spectra(cublasHandle_t blas, const SpectraProduct& product, bool tf32);

}  // namespace znni::cuda
