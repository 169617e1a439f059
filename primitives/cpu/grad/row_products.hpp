// Products of rows of voxels, by vectors, in an order that depends on their length alone.
#pragma once

#include <cstdint>

#include "primitives/core/tensor.hpp"
#include "primitives/cpu/vectors/simd8.hpp"

namespace znni::cpu {

// Returns the sum of a[i] * b[stride * i]; partial sums are float32.
[[nodiscard]] float row_product(const float* a, const float* b, std::int64_t count, std::int64_t stride);

// Computes to[stride * i] += weight * from[i].
void add_scaled_row(const float* from, std::int64_t count, float weight, float* to, std::int64_t stride);

// Returns the sum of channel j of all inputs of a planar view.
[[nodiscard]] double sum_of_channel(const TensorView& view, std::int64_t j);

// Writes the sum of each channel over plane `plane` of S n.z to `sums`, of whole blocks; partial sums of a row are
// float32.
void sum_plane(const TensorView& view, std::int64_t plane, double* sums);

// Returns the sum of a vector's lanes, in float64.
[[nodiscard]] inline double sum_of_lanes(Simd8::V value) {
  float lanes[Simd8::lanes];
  Simd8::store(lanes, value);
  double sum = 0.0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

}  // namespace znni::cpu
