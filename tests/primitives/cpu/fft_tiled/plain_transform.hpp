// Fourier transforms by the definition, in double precision, and memory for tasks of the tiled FFT.
#pragma once

#include <complex>
#include <cstdint>
#include <new>
#include <vector>

#include "primitives/core/shape.hpp"

namespace znni::cpu::fft_tiled {

using Wide = std::complex<double>;

// Transforms values, [z][y][x] of extent n, along one axis: X[k] = sum of x[t] exp(sign 2 pi i k t / n).
void plain_transform(std::vector<Wide>& values, Vec3 n, int axis, double sign);

// Allocates whole cache lines, as the arena grants them.
template <class T>
struct LineAligned {
  using value_type = T;
  static T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{64}));
  }
  static void deallocate(T* block, std::size_t) { ::operator delete (block, std::align_val_t{64}); }
  bool operator==(const LineAligned&) const = default;
};
using Floats = std::vector<float, LineAligned<float>>;
[[nodiscard]] inline Floats floats(std::int64_t count, float value) {
  return Floats(static_cast<std::size_t>(count), value);
}

// Expects that no value differs more from the expected one than float32 explains. The measure is the largest expected
// value, or `scale` if that is more. Complex results lie re, im, re, im ...
void expect_alike(const std::vector<double>& actual, const std::vector<double>& expected, double scale = 0);

}  // namespace znni::cpu::fft_tiled
