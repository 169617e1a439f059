// Registers of AVX2, and the register block of its products. Types are derived from it as registers_avx512.hpp says.
#pragma once

#include "primitives/cpu/vectors/simd8_x86.hpp"

namespace znni::cpu::fft_tiled {

struct Avx2Registers : Simd8 {
  static constexpr int gemm_rows = 6;
  static constexpr int gemm_vectors = 2;
};

}  // namespace znni::cpu::fft_tiled
