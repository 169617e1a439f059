// Tables without functions: the shapes of those for 16, 8 and 4 floats, on every processor.
#pragma once

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

[[nodiscard]] inline TileKernels kernel_shapes(int simd_floats) {
  TileKernels kernels;
  kernels.lanes = simd_floats == 16 ? 16 : 8;
  kernels.gemm_rows = simd_floats == 16 ? 8 : 6;
  kernels.gemm_vectors = simd_floats == 16 ? 3 : 2;
  kernels.packs = simd_floats == 16;
  return kernels;
}

}  // namespace znni::cpu::fft_tiled
