// Simd8 floats in one register of AVX2.
#pragma once

#include <immintrin.h>

#include "primitives/cpu/vectors/vectors.hpp"

namespace znni::cpu {

struct Simd8 : Vectors<8> {
  static void stream(float* to, V value) { _mm256_stream_ps(to, (__m256)value); }
  static void fence() { _mm_sfence(); }
};

}  // namespace znni::cpu
