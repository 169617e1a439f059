// Compiled for AVX2 with fused multiply-adds, the minimum on x86 processors.
#include "primitives/cpu/fft_tiled/registers_avx2.hpp"
#include "primitives/cpu/grad/weights_products.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Avx2 : Avx2Registers {};

}  // namespace

extern const WeightsKernels weights_avx2;
constinit const WeightsKernels weights_avx2 = make_weights_kernels<Avx2>();

}  // namespace znni::cpu::fft_tiled
