#include "primitives/cpu/grad/row_products.hpp"

namespace znni::cpu {
namespace {

float dense_product(const float* a, const float* b, std::int64_t count) {
  Simd8::V sums[2] = {};
  std::int64_t i = 0;
  for (; i + 2 * Simd8::lanes <= count; i += 2 * Simd8::lanes) {
    sums[0] += Simd8::load(a + i) * Simd8::load(b + i);
    sums[1] += Simd8::load(a + i + Simd8::lanes) * Simd8::load(b + i + Simd8::lanes);
  }
  double sum = sum_of_lanes(sums[0] + sums[1]);
  for (; i < count; ++i) sum += a[i] * b[i];
  return static_cast<float>(sum);
}

}  // namespace

float row_product(const float* a, const float* b, std::int64_t count, std::int64_t stride) {
  if (stride == 1) return dense_product(a, b, count);
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i * stride];
  return static_cast<float>(sum);
}

void add_scaled_row(const float* from, std::int64_t count, float weight, float* to, std::int64_t stride) {
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += weight * from[i];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] += weight * from[i];
}

double sum_of_channel(const TensorView& view, std::int64_t j) {
  const Vec3 n = view.shape.n;
  double sum = 0.0;
  for (std::int64_t row = 0; row < view.shape.S * n.z * n.y; ++row) {
    const float* const from = &view.at(row / n.y / n.z, j, {row / n.y % n.z, row % n.y, 0});
    for (std::int64_t x = 0; x < n.x; ++x) sum += from[x];
  }
  return sum;
}

}  // namespace znni::cpu
