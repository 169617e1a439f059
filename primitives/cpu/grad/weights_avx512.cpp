// Compiled for AVX-512; runs if the processor has it.
#include "primitives/cpu/grad/weights_products.hpp"
#include "primitives/cpu/vectors/vectors.hpp"

namespace znni::cpu::fft_tiled {
namespace {

// Sums stay in the caches: no stores go past them.
struct Avx512 : PlainVectors<16> {
  static constexpr int gemm_rows = 8;
  static constexpr int gemm_vectors = 3;
};

}  // namespace

extern const WeightsKernels weights_avx512;
constinit const WeightsKernels weights_avx512 = make_weights_kernels<Avx512>();

}  // namespace znni::cpu::fft_tiled
