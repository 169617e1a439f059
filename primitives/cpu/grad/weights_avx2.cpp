// Compiled for AVX2 with fused multiply-adds, the minimum on x86 processors.
#include "primitives/cpu/grad/weights_products.hpp"
#include "primitives/cpu/vectors/vectors.hpp"

namespace znni::cpu::fft_tiled {
namespace {

// Sums stay in the caches: no stores go past them.
struct Avx2 : PlainVectors<8> {
  static constexpr int gemm_rows = 6;
  static constexpr int gemm_vectors = 2;
};

}  // namespace

extern const WeightsKernels weights_avx2;
constinit const WeightsKernels weights_avx2 = make_weights_kernels<Avx2>();

}  // namespace znni::cpu::fft_tiled
