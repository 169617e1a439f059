// Compiled for AVX-512; runs if the processor has it.
#include "primitives/cpu/fft_tiled/registers_avx512.hpp"
#include "primitives/cpu/grad/weights_products.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Avx512 : Avx512Registers {};

}  // namespace

extern const WeightsKernels weights_avx512;
constinit const WeightsKernels weights_avx512 = make_weights_kernels<Avx512>();

}  // namespace znni::cpu::fft_tiled
