// Extents that transform fast, and what a transform of that extent holds (ZNNi section III).
#pragma once

#include <complex>
#include <cstdint>

#include "primitives/core/shape.hpp"

namespace znni::cpu {

using Complex = std::complex<float>;

// The smallest 2^a 3^b 5^c 7^d, times at most one factor of 11 or 13, that is at least n; n >= 1.
// `saturated` when it does not fit.
[[nodiscard]] std::int64_t fft_size(std::int64_t n);

// n_fft for images of extent n: fft_size along every axis.
[[nodiscard]] Vec3 fft_extent(Vec3 n);

// Complex values of one real-to-complex transform, of one of its planes and of one row: halved along x,
// (floor(n_fft.x / 2) + 1) n_fft.y n_fft.z, x contiguous; saturate. A whole transform takes an even number, so
// that transforms side by side are all aligned alike: at another alignment the library rounds otherwise, and the
// output would depend on which worker's kernel buffer was used.
[[nodiscard]] constexpr std::int64_t row_elements(Vec3 n_fft) { return n_fft.x / 2 + 1; }
[[nodiscard]] constexpr std::int64_t plane_elements(Vec3 n_fft) { return mul(row_elements(n_fft), n_fft.y); }
[[nodiscard]] constexpr std::int64_t transform_elements(Vec3 n_fft) {
  return round_up(mul(plane_elements(n_fft), n_fft.z), 2);
}

}  // namespace znni::cpu
