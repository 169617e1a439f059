#include "primitives/cpu/grad/weights_tiles.hpp"

namespace znni::cpu::fft_tiled {

extern const WeightsKernels weights_portable;

const WeightsKernels* weights_kernels(int simd_floats) { return simd_floats == 4 ? &weights_portable : nullptr; }

}  // namespace znni::cpu::fft_tiled
