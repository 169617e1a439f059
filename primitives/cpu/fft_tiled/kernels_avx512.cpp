// Compiled for AVX-512; runs if the processor has it.
#include <immintrin.h>

#include "primitives/cpu/fft_tiled/make_kernels.hpp"
#include "primitives/cpu/vectors/vectors.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Avx512 : Vectors<16> {
  static constexpr int gemm_rows = 8;
  static constexpr int gemm_vectors = 3;
  static void stream(float* to, V value) { _mm512_stream_ps(to, (__m512)value); }
  static void fence() { _mm_sfence(); }
};

}  // namespace

extern const TileKernels kernels_avx512;
constinit const TileKernels kernels_avx512 = make_kernels<Avx512>();

}  // namespace znni::cpu::fft_tiled
