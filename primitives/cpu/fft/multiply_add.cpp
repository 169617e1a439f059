#include "primitives/cpu/fft/multiply_add.hpp"

#include <algorithm>

namespace znni::cpu {
namespace {

// Multiplies pairs of reals. Products of std::complex would have to handle infinities, which would prevent
// vectorisation.
template <bool add>
void products(const float* __restrict channel, const float* __restrict kernel, float* __restrict sum,
              std::int64_t count) {
  for (std::int64_t e = 0; e < count; ++e) {
    const float re = channel[2 * e] * kernel[2 * e] + channel[2 * e + 1] * kernel[2 * e + 1];
    const float im = channel[2 * e + 1] * kernel[2 * e] - channel[2 * e] * kernel[2 * e + 1];
    sum[2 * e] = add ? sum[2 * e] + re : re;
    sum[2 * e + 1] = add ? sum[2 * e + 1] + im : im;
  }
}

const float* reals(const Complex* values) { return reinterpret_cast<const float*>(values); }
float* reals(Complex* values) { return reinterpret_cast<float*>(values); }

// Values multiplied while the next piece of the channel is prefetched: 4 KiB.
constexpr std::int64_t piece = 512;

template <bool add>
void in_pieces(const Complex* channel, const Complex* kernel, Complex* sum, std::int64_t count) {
  for (std::int64_t at = 0; at < count; at += piece) {
    const std::int64_t now = std::min(piece, count - at);
    prefetch(channel + at + now, std::min(piece, count - at - now));
    products<add>(reals(channel + at), reals(kernel + at), reals(sum + at), now);
  }
}

}  // namespace

void multiply(const Complex* channel, const Complex* kernel, Complex* sum, std::int64_t count) {
  in_pieces<false>(channel, kernel, sum, count);
}

void multiply_add(const Complex* channel, const Complex* kernel, Complex* sum, std::int64_t count) {
  in_pieces<true>(channel, kernel, sum, count);
}

}  // namespace znni::cpu
