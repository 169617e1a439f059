// Compiled for AVX2 with fused multiply-adds, the minimum on x86 processors.
#include "primitives/cpu/fft_tiled/make_kernels.hpp"
#include "primitives/cpu/vectors/eight_x86.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Avx2 : Eight {
  static constexpr int gemm_rows = 6;
  static constexpr int gemm_vectors = 2;
};

}  // namespace

extern const TileKernels kernels_avx2;
constinit const TileKernels kernels_avx2 = make_kernels<Avx2>();

}  // namespace znni::cpu::fft_tiled
