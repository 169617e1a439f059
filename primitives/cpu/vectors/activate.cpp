#include "primitives/cpu/vectors/activate.hpp"

#include "primitives/cpu/vectors/simd8.hpp"
#include "primitives/cpu/vectors/vector_activations.hpp"

namespace znni::cpu {

void activate(Activation activation, std::span<float> values) {
  activate_vectors<Simd8>(activation, values.data(), static_cast<std::int64_t>(values.size()));
}

void exponentiate(std::span<float> values) {
  each_vector<Simd8>(values.data(), static_cast<std::int64_t>(values.size()),
                     [](Simd8::V x) { return exponential<Simd8>(x); });
}

void accumulate(std::span<const float> from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

void clear_lanes(std::span<float> values, std::int64_t first, std::int64_t width) {
  if (first >= width) return;
  for (std::size_t voxel = 0; voxel < values.size(); voxel += static_cast<std::size_t>(width)) {
    for (std::int64_t lane = first; lane < width; ++lane) values[voxel + static_cast<std::size_t>(lane)] = 0.0F;
  }
}

}  // namespace znni::cpu
