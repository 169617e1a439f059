// Compiled for AVX2 with fused multiply-adds, the minimum on x86 processors.
#include "primitives/cpu/fft_tiled/make_kernels.hpp"
#include "primitives/cpu/fft_tiled/registers_avx2.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Avx2 : Avx2Registers {};

}  // namespace

extern const TileKernels kernels_avx2;
constinit const TileKernels kernels_avx2 = make_kernels<Avx2>();

}  // namespace znni::cpu::fft_tiled
