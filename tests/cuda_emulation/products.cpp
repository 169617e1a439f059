// cuBLAS: the batched complex products of convolutions by FFT, in a workspace that must have been lent after the stream
// was set, because the library would take memory of its own otherwise.
#include <cublas_v2.h>

#include <complex>
#include <cstring>
#include <vector>

#include "tests/cuda_emulation/device_memory.hpp"
#include "tests/cuda_emulation/library_handles.hpp"
#include "tests/support/rounding.hpp"

namespace znni::cuda_emulation {
namespace {

using Complex = std::complex<float>;

struct Blas {
  void* workspace = nullptr;  // lent
  std::size_t bytes = 0;
};

Blas& blas_of(cublasHandle_t handle) { return *reinterpret_cast<Blas*>(handle); }

// Returns `count` numbers as the product takes them.
std::vector<Complex> factors(const Complex* values, std::int64_t count, bool tf32) {
  std::vector<Complex> taken(values, values + count);
  if (!tf32) return taken;
  for (Complex& value : taken) value = {test::rounded_to_tf32(value.real()), test::rounded_to_tf32(value.imag())};
  return taken;
}

// Matrices as BLAS has them, columns one after the other.
struct Product {
  std::int64_t m = 0;  // rows of a^H and c
  std::int64_t n = 0;  // columns of b and c
  std::int64_t k = 0;  // rows of a and b
  std::int64_t a_step = 0;
  std::int64_t b_step = 0;
  std::int64_t c_step = 0;
};

// Returns the sum over `k` of conj(a) b.
Complex inner(const Complex* a, const Complex* b, std::int64_t k) {
  float re = 0;
  float im = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    re += a[i].real() * b[i].real() + a[i].imag() * b[i].imag();
    im += a[i].real() * b[i].imag() - a[i].imag() * b[i].real();
  }
  return {re, im};
}

// Computes c = a^H b.
void multiply(const Product& product, const Complex* a, const Complex* b, Complex* c, bool tf32) {
  const std::vector<Complex> left = factors(a, product.m * product.a_step, tf32);
  const std::vector<Complex> right = factors(b, product.n * product.b_step, tf32);
  for (std::int64_t column = 0; column < product.n; ++column) {
    for (std::int64_t row = 0; row < product.m; ++row) {
      c[row + column * product.c_step] =
          inner(left.data() + row * product.a_step, right.data() + column * product.b_step, product.k);
    }
  }
}

bool is_complex_number(const void* at, Complex value) {
  Complex found;
  std::memcpy(&found, at, sizeof(found));
  return found == value;
}

bool holds_matrices(const void* at, std::int64_t matrices, std::int64_t stride, std::int64_t columns,
                    std::int64_t step) {
  const std::int64_t elements = (matrices - 1) * stride + columns * step;
  return device_memory().holds(at, static_cast<std::size_t>(elements) * sizeof(Complex));
}

}  // namespace
}  // namespace znni::cuda_emulation

namespace emulation = znni::cuda_emulation;

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(new emulation::Blas());
  ++emulation::library_handles();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete &emulation::blas_of(handle);
  --emulation::library_handles();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  emulation::blas_of(handle) = {};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool usable = reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0;
  if (!usable || !emulation::device_memory().holds(workspace, bytes)) return CUBLAS_STATUS_INVALID_VALUE;
  emulation::blas_of(handle) = {workspace, bytes};
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "a status that the emulation does not give";
  }
}

const char* cublasGetStatusString(cublasStatus_t) { return "said by the emulation of CUDA"; }

cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b,
                                             std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha,
                                             const void* a, cudaDataType a_type, std::int64_t a_step,
                                             long long a_stride, const void* b, cudaDataType b_type,
                                             std::int64_t b_step, long long b_stride, const void* beta, void* c,
                                             cudaDataType c_type, std::int64_t c_step, long long c_stride,
                                             std::int64_t count, cublasComputeType_t compute, cublasGemmAlgo_t) {
  using emulation::Complex;
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const bool known = of_a == CUBLAS_OP_C && of_b == CUBLAS_OP_N && a_type == CUDA_C_32F && b_type == CUDA_C_32F &&
                     c_type == CUDA_C_32F && (tf32 || compute == CUBLAS_COMPUTE_32F) &&
                     emulation::is_complex_number(alpha, 1.0F) && emulation::is_complex_number(beta, 0.0F);
  if (!known) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (m < 1 || n < 1 || k < 1 || count < 1 || a_step < k || b_step < k || c_step < m)
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool held = emulation::holds_matrices(a, count, a_stride, m, a_step) &&
                    emulation::holds_matrices(b, count, b_stride, n, b_step) &&
                    emulation::holds_matrices(c, count, c_stride, n, c_step);
  if (!held) return CUBLAS_STATUS_INVALID_VALUE;
  const emulation::Blas& own = emulation::blas_of(handle);
  if (own.workspace == nullptr) return CUBLAS_STATUS_ALLOC_FAILED;
  const emulation::Access access;
  for (std::int64_t i = 0; i < count; ++i) {
    emulation::multiply({m, n, k, a_step, b_step, c_step}, static_cast<const Complex*>(a) + i * a_stride,
                        static_cast<const Complex*>(b) + i * b_stride, static_cast<Complex*>(c) + i * c_stride, tf32);
  }
  std::memset(own.workspace, 0xff, own.bytes);
  return CUBLAS_STATUS_SUCCESS;
}
