// Compiled for AVX2 with fused multiply-adds, the least that the project runs on.
#include <immintrin.h>

#include "primitives/cpu/fft_tiled/make_kernels.hpp"
#include "primitives/cpu/vectors.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Avx2 : Vectors<8> {
  static constexpr int gemm_rows = 6;
  static constexpr int gemm_vectors = 2;
  static void stream(float* to, V value) { _mm256_stream_ps(to, (__m256)value); }
  static void fence() { _mm_sfence(); }
};

}  // namespace

extern const TileKernels kernels_avx2;
constinit const TileKernels kernels_avx2 = make_kernels<Avx2>();

}  // namespace znni::cpu::fft_tiled
