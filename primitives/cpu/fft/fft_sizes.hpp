// Extents with fast transforms, and the sizes of their transforms (ZNNi section III).
#pragma once

#include <complex>
#include <cstdint>

#include "primitives/core/shape.hpp"

namespace znni::cpu {

using Complex = std::complex<float>;

// Returns the smallest 2^a 3^b 5^c 7^d, times at most one factor of 11 or 13, that is at least n; n >= 1. `saturated`
// if it does not fit.
[[nodiscard]] std::int64_t fft_size(std::int64_t n);

// Returns n_fft for channels of extent n: fft_size() along every axis.
[[nodiscard]] Vec3 fft_extent(Vec3 n);

// Return the number of complex values of one row, one plane and one whole real-to-complex transform: halved along x,
// (floor(n_fft.x / 2) + 1) n_fft.y n_fft.z, x contiguous. They saturate. A whole transform takes an even number, so
// that consecutive transforms have the same alignment. The library rounds differently at another alignment; the output
// would then depend on the worker whose kernel buffer was used.
[[nodiscard]] constexpr std::int64_t row_elements(Vec3 n_fft) { return n_fft.x / 2 + 1; }
[[nodiscard]] constexpr std::int64_t plane_elements(Vec3 n_fft) { return mul(row_elements(n_fft), n_fft.y); }
[[nodiscard]] constexpr std::int64_t transform_elements(Vec3 n_fft) {
  return round_up(mul(plane_elements(n_fft), n_fft.z), 2);
}

}  // namespace znni::cpu
