// Products of spectra, the core of a convolution by FFT. A correlation in space is a product with the conjugate of the
// kernel's transform.
#pragma once

#include <cstdint>

#include "primitives/cpu/fft/fft_sizes.hpp"

namespace znni::cpu {

// Computes sum[e] = channel[e] * conj(kernel[e]) for e in [0, count). The arrays must not overlap.
void multiply(const Complex* channel, const Complex* kernel, Complex* sum, std::int64_t count);

// Computes sum[e] += channel[e] * conj(kernel[e]).
void multiply_add(const Complex* channel, const Complex* kernel, Complex* sum, std::int64_t count);

// Prefetches values that will be read soon. The channels' transforms seldom fit into a cache, so a multiply-add is
// limited by reading them.
inline void prefetch(const Complex* values, std::int64_t count) {
  constexpr std::int64_t line = 64 / sizeof(Complex);
  for (std::int64_t e = 0; e < count; e += line) __builtin_prefetch(values + e);
}

}  // namespace znni::cpu
