// The last step of a convolution: scale, bias and activation, while a row of the result is in cache.
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

// out[i * step] = activation(scale * row[i] + bias) for every element of `row`, which is overwritten.
void store_row(std::span<float> row, const Epilogue& epilogue, float* out, std::int64_t step);

// bias[j], or 0 when the layer has none.
[[nodiscard]] inline float bias_of(const LayerWeights& weights, std::int64_t j) {
  return weights.bias.empty() ? 0.0F : weights.bias[static_cast<std::size_t>(j)];
}

}  // namespace znni::cpu
