// Compiled for AVX-512; runs if the processor has it.
#include "primitives/cpu/fft_tiled/make_kernels.hpp"
#include "primitives/cpu/fft_tiled/registers_avx512.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Avx512 : Avx512Registers {};

}  // namespace

extern const TileKernels kernels_avx512;
constinit const TileKernels kernels_avx512 = make_kernels<Avx512>();

}  // namespace znni::cpu::fft_tiled
