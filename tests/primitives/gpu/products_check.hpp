// Products of spectra against their definition in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "primitives/gpu/fft32.hpp"
#include "primitives/gpu/kernel_types.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

struct ProductCase {
  cuda::Index f = 1;
  cuda::Index f_out = 1;
  cuda::Index tiles = 1;
  cuda::Index frequencies = 1;
};

// As products take them and leave them (primitives/cuda/fft/fft_products.hpp).
using Spectrum = std::vector<cuda::Complex>;

// Returns numbers whose sizes differ by a factor of 256, of either sign or, for sums that do not cancel, of one.
[[nodiscard]] inline Spectrum random_spectrum(cuda::Index count, Random& random, bool positive = false) {
  Spectrum spectrum(static_cast<std::size_t>(count));
  const auto number = [&] {
    const float value = std::ldexp(random.normal(), static_cast<int>(random.integer(-4, 4)));
    return positive ? std::abs(value) : value;
  };
  for (cuda::Complex& value : spectrum) {
    value.re = number();
    value.im = number();
  }
  return spectrum;
}

// Returns the bound that primitives/gpu/complex_mma.hpp states, relative to sum |a| |b|.
[[nodiscard]] inline double product_bound(cuda::Index f) { return (13.0 + static_cast<double>(f) / 32.0) * 0x1p-22; }

// Returns the largest error of a part of an element, relative to sum |a| |b|. NaN if one is.
[[nodiscard]] inline double product_error(const ProductCase& of, const Spectrum& kernels, const Spectrum& inputs,
                                          const Spectrum& outputs) {
  const auto at = [](const Spectrum& spectrum, cuda::Index index) {
    const cuda::Complex value = spectrum[static_cast<std::size_t>(index)];
    return std::complex<double>(value.re, value.im);
  };
  double largest = 0.0;
  for (cuda::Index row = 0; row < of.frequencies * of.tiles; ++row) {
    for (cuda::Index j = 0; j < of.f_out; ++j) {
      const cuda::Index kernel = row / of.tiles * of.f_out + j;
      std::complex<double> sum = 0.0;
      double sizes = 1e-300;
      for (cuda::Index i = 0; i < of.f; ++i) {
        const std::complex<double> a = at(inputs, row * of.f + i);
        const std::complex<double> b = at(kernels, kernel * of.f + i);
        sum += a * std::conj(b);
        sizes += std::abs(a) * std::abs(b);
      }
      const std::complex<double> error = at(outputs, row * of.f_out + j) - sum;
      const double own = std::max(std::abs(error.real()), std::abs(error.imag())) / sizes;
      if (!(own <= largest)) largest = own;
      if (std::isnan(own)) return own;
    }
  }
  return largest;
}

}  // namespace znni::test
