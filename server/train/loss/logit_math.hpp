// Functions of logits, in float64, that lose nothing at either end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace znni {

// Returns log(1 + exp(x)).
[[nodiscard]] inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

[[nodiscard]] inline double sigmoid(double x) {
  const double small = std::exp(-std::abs(x));
  return (x < 0 ? small : 1.0) / (1.0 + small);
}

// softplus() and sigmoid() of x and of -x, by one exponential and one logarithm; with the same bits.
class BothSigns {
 public:
  explicit BothSigns(double x) : x_(x), small_(std::exp(-std::abs(x))), rest_(std::log1p(small_)) {}

  [[nodiscard]] double softplus() const { return std::max(x_, 0.0) + rest_; }
  [[nodiscard]] double softplus_of_negative() const { return std::max(-x_, 0.0) + rest_; }
  [[nodiscard]] double sigmoid() const { return (x_ < 0 ? small_ : 1.0) / (1.0 + small_); }
  [[nodiscard]] double sigmoid_of_negative() const { return (-x_ < 0 ? small_ : 1.0) / (1.0 + small_); }

 private:
  double x_;
  double small_;
  double rest_;
};

// Writes the softmax of a voxel's logits, [channels][voxels], one probability per channel. Returns the logarithm of the
// sum of all exponentials.
inline double softmax_of(std::span<const float> logits, std::size_t voxel, std::vector<double>& probabilities) {
  const std::size_t voxels = logits.size() / probabilities.size();
  const auto logit = [&](std::size_t c) { return static_cast<double>(logits[c * voxels + voxel]); };
  double highest = logit(0);
  for (std::size_t c = 1; c < probabilities.size(); ++c) highest = std::max(highest, logit(c));
  double sum = 0;
  for (std::size_t c = 0; c < probabilities.size(); ++c) sum += probabilities[c] = std::exp(logit(c) - highest);
  for (double& each : probabilities) each /= sum;
  return highest + std::log(sum);
}

}  // namespace znni
