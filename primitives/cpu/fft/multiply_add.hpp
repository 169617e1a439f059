// Products of spectra: the heart of a convolution by FFT. A correlation in space is a product with the
// conjugate of the kernel's transform.
#pragma once

#include <cstdint>

#include "primitives/cpu/fft/fft_sizes.hpp"

namespace znni::cpu {

// sum[e] = image[e] * conj(kernel[e]), for e in [0, count). No two of the arrays overlap.
void multiply(const Complex* image, const Complex* kernel, Complex* sum, std::int64_t count);

// sum[e] += image[e] * conj(kernel[e]).
void multiply_add(const Complex* image, const Complex* kernel, Complex* sum, std::int64_t count);

// Asks for values that will be read soon. The images' transforms seldom fit into a cache, and reading them is
// what a multiply-add waits for.
inline void prefetch(const Complex* values, std::int64_t count) {
  constexpr std::int64_t line = 64 / sizeof(Complex);
  for (std::int64_t e = 0; e < count; e += line) __builtin_prefetch(values + e);
}

}  // namespace znni::cpu
