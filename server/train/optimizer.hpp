// Changes weights by their gradients, as torch.optim.SGD, Adam and AdamW do, in float32. With w the weight, g its
// gradient, r the learning rate, d the weight decay, t the number of the update from 1:
//   sgd: g += d w; m = momentum m + g (m = g at first); w -= r m;
//   adam (Kingma and Ba 2015): g += d w; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g g;
//     w -= r / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + epsilon);
//   adamw (Loshchilov and Hutter 2019): w -= r d w; then adam without decay.
#pragma once

#include <cstdint>

#include "planner/network/network.hpp"
#include "proto/convert/text/train_config.hpp"

namespace znni {

// What an optimizer remembers: all of it, so that one that continues from a copy does the same to the last bit.
struct OptimizerState {
  std::int64_t updates = 0;
  NetworkWeights first;   // m; empty for sgd without momentum
  NetworkWeights second;  // v; empty for sgd
};

class Optimizer {
 public:
  // Starts with moments of 0 for weights of those sizes.
  Optimizer(const OptimizerSettings& settings, const NetworkWeights& weights);

  // Changes the weights. Scales the gradients first if the settings clip them. Both have the sizes of the weights at
  // the start. Returns the norm of the gradients before they were clipped.
  double update(NetworkWeights& weights, NetworkWeights& gradients, double learning_rate);

  [[nodiscard]] const OptimizerState& state() const { return state_; }
  // Continues from a state. Returns false, and changes nothing, if its sizes are others.
  [[nodiscard]] bool restore(OptimizerState state);

  // Returns the bytes of the state for weights of `weight_bytes`.
  [[nodiscard]] static std::int64_t state_bytes(const OptimizerSettings& settings, std::int64_t weight_bytes);

 private:
  OptimizerSettings settings_;
  OptimizerState state_;
};

// Returns the square root of the sum of all squares; float64, in the order of memory.
[[nodiscard]] double global_norm(const NetworkWeights& gradients);

// Scales gradients whose global norm is above `longest` to that norm, as torch.nn.utils.clip_grad_norm_ does: by
// longest / (norm + 1e-6). Returns the norm before.
double clip(NetworkWeights& gradients, double longest);

// Returns whether both have vectors of the same sizes.
[[nodiscard]] bool have_equal_sizes(const NetworkWeights& a, const NetworkWeights& b);
// Returns whether both have the same sizes and, in all of them, the same bits.
[[nodiscard]] bool have_equal_bits(const NetworkWeights& a, const NetworkWeights& b);
// Returns weights of the same sizes, all 0.
[[nodiscard]] NetworkWeights zeros_like(const NetworkWeights& weights);

}  // namespace znni
