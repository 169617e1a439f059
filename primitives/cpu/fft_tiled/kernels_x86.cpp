#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

extern const TileKernels kernels_avx512;
extern const TileKernels kernels_avx2;
extern const TileKernels kernels_portable;

const TileKernels* tile_kernels(int simd_floats) {
  if (simd_floats == 16) return &kernels_avx512;
  if (simd_floats == 8) return &kernels_avx2;
  return simd_floats == 4 ? &kernels_portable : nullptr;
}

}  // namespace znni::cpu::fft_tiled
