#include "primitives/cpu/grad/weights_tiles.hpp"

namespace znni::cpu::fft_tiled {

extern const WeightsKernels weights_avx512;
extern const WeightsKernels weights_avx2;
extern const WeightsKernels weights_portable;

const WeightsKernels* weights_kernels(int simd_floats) {
  if (simd_floats == 16) return &weights_avx512;
  if (simd_floats == 8) return &weights_avx2;
  return simd_floats == 4 ? &weights_portable : nullptr;
}

}  // namespace znni::cpu::fft_tiled
