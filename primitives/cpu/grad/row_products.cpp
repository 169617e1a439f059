#include "primitives/cpu/grad/row_products.hpp"

#include <algorithm>

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

// Adds the voxels of a row, `lanes` of them from each, a multiple of 8.
void add_row(const float* from, std::int64_t count, std::int64_t stride, std::int64_t lanes, double* sums) {
  for (std::int64_t i = 0; i < lanes; i += Simd8::lanes) {
    Simd8::V sum = {};
    for (std::int64_t x = 0; x < count; ++x) sum += Simd8::load(from + x * stride + i);
    float each[Simd8::lanes];
    Simd8::store(each, sum);
    for (std::int64_t lane = 0; lane < Simd8::lanes; ++lane) sums[i + lane] += each[lane];
  }
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

void sum_plane(const TensorView& view, std::int64_t plane, double* sums) {
  const Vec3 n = view.shape.n;
  const std::int64_t width = block_width(view.format.layout);
  for (std::int64_t j = 0; j < view.shape.f; j += width) {
    std::fill_n(sums + j, width, 0.0);
    for (std::int64_t y = 0; y < n.y; ++y) {
      const float* const row = &view.at(plane / n.z, j, {plane % n.z, y, 0});
      if (width > 1) {
        add_row(row, n.x, view.strides.x, width, sums + j);
      } else {
        for (std::int64_t x = 0; x < n.x; ++x) sums[j] += row[x * view.strides.x];
      }
    }
  }
}

}  // namespace znni::cpu
