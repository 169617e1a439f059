// A complex transform of 32 points in registers: radix 2, decimation in frequency. Loops are unrolled by templates, so
// that every index is a constant: an array whose index is not would leave the registers. The same on host and device.
#pragma once

#include <utility>

#include "primitives/gpu/unrolled.hpp"

namespace znni::cuda {

// Moved as one: strides in shared memory are made for words of eight bytes.
struct alignas(8) Complex {
  float re;
  float im;
};

inline constexpr int fft32_points = 32;
inline constexpr int fft32_half = 17;  // of a real transform: half the row, and one

// Returns where element k of a result lies: its five bits reversed.
constexpr int reversed(int k) { return ((k & 1) << 4) | ((k & 2) << 2) | (k & 4) | ((k & 8) >> 2) | ((k & 16) >> 4); }

struct Points32 {
  Complex v[fft32_points];
};

// Returns exp(2 pi i k / 32), k in [0, 16).
constexpr Complex root_of_32(int k) {
  constexpr float cosines[17] = {1.0F,          0.980785280F,  0.923879533F,  0.831469612F,  0.707106781F,
                                 0.555570233F,  0.382683432F,  0.195090322F,  0.0F,          -0.195090322F,
                                 -0.382683432F, -0.555570233F, -0.707106781F, -0.831469612F, -0.923879533F,
                                 -0.980785280F, -1.0F};
  return {cosines[k], k <= 8 ? cosines[8 - k] : cosines[k - 8]};
}

// Computes one sum and one difference of a stage that pairs elements `half` apart.
template <int sign, int half, int i>
constexpr void butterfly(Points32& points) {
  constexpr int j = i % half;
  constexpr int first = i / half * 2 * half + j;
  constexpr Complex root = root_of_32(j * (16 / half));
  constexpr float root_im = static_cast<float>(sign) * root.im;
  const Complex a = points.v[first];
  const Complex b = points.v[first + half];
  const Complex d{a.re - b.re, a.im - b.im};
  points.v[first] = {a.re + b.re, a.im + b.im};
  points.v[first + half] = {d.re * root.re - d.im * root_im, d.re * root_im + d.im * root.re};
}
template <int sign, int half, int... i>
constexpr void stage(Points32& points, std::integer_sequence<int, i...>) {
  (butterfly<sign, half, i>(points), ...);
}

// Computes v[reversed(k)] = sum over j of exp(sign 2 pi i j k / 32) v[j]; sign is -1 (forward) or 1; unscaled.
template <int sign>
constexpr void fft32(Points32& points) {
  constexpr auto sixteen = std::make_integer_sequence<int, 16>();
  stage<sign, 16>(points, sixteen);
  stage<sign, 8>(points, sixteen);
  stage<sign, 4>(points, sixteen);
  stage<sign, 2>(points, sixteen);
  stage<sign, 1>(points, sixteen);
}

}  // namespace znni::cuda
