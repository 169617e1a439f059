// The last step of a convolution: scale, bias, residual and activation, while a row of the result is in cache.
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

// Values that are added to a row's before the activation; none where `row` is null.
struct Addend {
  const float* row = nullptr;
  std::int64_t step = 1;
};

// out[i * step] = activation(scale * row[i] + bias + addend.row[i * addend.step]) for every element of `row`, which is
// overwritten.
void store_row(std::span<float> row, const Epilogue& epilogue, const Addend& addend, float* out, std::int64_t step);

// bias[j], or 0 when the layer has none.
[[nodiscard]] inline float bias_of(const LayerWeights& weights, std::int64_t j) {
  return weights.bias.empty() ? 0.0F : weights.bias[static_cast<std::size_t>(j)];
}

}  // namespace znni::cpu
