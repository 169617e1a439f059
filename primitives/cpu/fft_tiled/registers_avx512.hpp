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

  // Returns a vector of four quads of 4 floats, of packed units. Of intrinsics only those with masks have no operand
  // that GCC 12 takes for uninitialized; its own shuffles of unlike vectors go through memory.
  static V quads(const float* a, const float* b, const float* c, const float* d) {
    __m512 quads = _mm512_maskz_broadcast_f32x4(0x000f, _mm_loadu_ps(a));
    quads = _mm512_mask_broadcast_f32x4(quads, 0x00f0, _mm_loadu_ps(b));
    quads = _mm512_mask_broadcast_f32x4(quads, 0x0f00, _mm_loadu_ps(c));
    return (V)_mm512_mask_broadcast_f32x4(quads, 0xf000, _mm_loadu_ps(d));
  }
  // Returns `count` quads that lie `step` floats apart, then zeros.
  template <int count>
  static V first_quads(const float* from, std::ptrdiff_t step) {
    __m512 quads = _mm512_maskz_broadcast_f32x4(0x000f, _mm_loadu_ps(from));
    if constexpr (count > 1) quads = _mm512_mask_broadcast_f32x4(quads, 0x00f0, _mm_loadu_ps(from + step));
    if constexpr (count > 2) quads = _mm512_mask_broadcast_f32x4(quads, 0x0f00, _mm_loadu_ps(from + 2 * step));
    return (V)quads;
  }
  // Returns four times the same quad.
  static V repeated(const float* from) { return (V)_mm512_maskz_broadcast_f32x4(0xffff, _mm_loadu_ps(from)); }
  // Returns quads of which number i is four times float i of the given one.
  static V spread(const float* from) {
    const V four = repeated(from);
    return __builtin_shufflevector(four, four, 0, 0, 0, 0, 5, 5, 5, 5, 10, 10, 10, 10, 15, 15, 15, 15);
  }
  // Returns float i of quad j as float j of quad i.
  static V turned(V value) {
    return __builtin_shufflevector(value, value, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  }
  // Makes float i of quad j of vector k float k of quad j of vector i.
  static void transpose(V (&four)[4]) {
    const V low01 = low_floats(four[0], four[1]);
    const V high01 = high_floats(four[0], four[1]);
    const V low23 = low_floats(four[2], four[3]);
    const V high23 = high_floats(four[2], four[3]);
    four[0] = low_pairs(low01, low23);
    four[1] = high_pairs(low01, low23);
    four[2] = low_pairs(high01, high23);
    four[3] = high_pairs(high01, high23);
  }

 private:
  static V low_floats(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
  }
  static V high_floats(V a, V b) {
    return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  }
  static V low_pairs(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
  }
  static V high_pairs(V a, V b) {
    return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  }
};

}  // namespace znni::cpu::fft_tiled
