#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

extern const TileKernels kernels_portable;

const TileKernels* tile_kernels(int simd_floats) { return simd_floats == 4 ? &kernels_portable : nullptr; }

}  // namespace znni::cpu::fft_tiled
