#include "primitives/cuda/fft/fft_products.hpp"

#include <algorithm>

#include "primitives/cuda/device/status.hpp"

namespace znni::cuda {
namespace {

constexpr std::int64_t max_products = 32768;  // of one call, within what grids of all devices take

}  // namespace

Result<void> lend_workspace(cublasHandle_t blas, cudaStream_t stream, std::span<std::byte> workspace) {
  if (Result<void> bound = check(cublasSetStream(blas, stream), "cublasSetStream"); !bound) return bound;
  return check(cublasSetWorkspace(blas, workspace.data(), workspace.size()), "cublasSetWorkspace");
}

// Multiplies with columns as BLAS has them: outputs (f_out x tiles) = kernels^H (f_out x f) inputs (f x tiles).
Result<void> multiply_spectra(cublasHandle_t blas, const SpectraProduct& product, bool tf32) {
  const auto [f, f_out, tiles, frequencies, kernels, inputs, outputs] = product;
  const cublasComputeType_t compute = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const float2 one{1.0F, 0.0F};
  const float2 zero{0.0F, 0.0F};
  for (std::int64_t first = 0; first < frequencies; first += max_products) {
    const std::int64_t count = std::min(max_products, frequencies - first);
    const cublasStatus_t status = cublasGemmStridedBatchedEx_64(
        blas, CUBLAS_OP_C, CUBLAS_OP_N, f_out, tiles, f, &one, kernels + first * f * f_out, CUDA_C_32F, f, f * f_out,
        inputs + first * f * tiles, CUDA_C_32F, f, f * tiles, &zero, outputs + first * f_out * tiles, CUDA_C_32F, f_out,
        f_out * tiles, count, compute, CUBLAS_GEMM_DEFAULT);
    if (Result<void> done = check(status, "cublasGemmStridedBatchedEx_64"); !done) return done;
  }
  return {};
}

}  // namespace znni::cuda
