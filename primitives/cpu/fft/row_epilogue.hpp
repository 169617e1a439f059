// The last step of a convolution, while a row of the result is in cache: scale, bias, residual and activation.
#pragma once

#include <cstdint>
#include <span>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

struct Epilogue {
  float scale = 1.0F;
  float bias = 0.0F;
  Activation activation;
};

// Values that are added to a row before the activation; none if `row` is null.
struct Addend {
  const float* row = nullptr;
  std::int64_t step = 1;
};

// Computes out[i * step] = activation(scale * row[i] + bias + addend.row[i * addend.step]) for every element of `row`;
// overwrites `row`.
void store_row(std::span<float> row, const Epilogue& epilogue, const Addend& addend, float* out, std::int64_t step);

// Returns bias[j], or 0 if the layer has none.
[[nodiscard]] inline float bias_of(const LayerWeights& weights, std::int64_t j) {
  return weights.bias.empty() ? 0.0F : weights.bias[static_cast<std::size_t>(j)];
}

}  // namespace znni::cpu
