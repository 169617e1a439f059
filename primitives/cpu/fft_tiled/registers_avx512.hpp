// Registers of AVX-512, and the register block of its products. A file that is compiled for AVX-512 derives a type of
// its own from it in an unnamed namespace. So no other file shares its code.
#pragma once

#include <immintrin.h>

#include "primitives/cpu/vectors/vectors.hpp"

namespace znni::cpu::fft_tiled {

struct Avx512Registers : Vectors<16> {
  static constexpr int gemm_rows = 8;
  static constexpr int gemm_vectors = 3;
  static void stream(float* to, V value) { _mm512_stream_ps(to, (__m512)value); }
  static void fence() { _mm_sfence(); }
};

}  // namespace znni::cpu::fft_tiled
