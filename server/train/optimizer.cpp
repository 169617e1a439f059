#include "server/train/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "server/train/weight_parts.hpp"

namespace znni {
namespace {

// Calls change(weight, gradient, number of node, part, index) for all.
template <class Change>
void for_all(NetworkWeights& weights, const NetworkWeights& gradients, const Change& change) {
  for (std::size_t node = 0; node < weights.size(); ++node) {
    for (const auto part : weight_parts) {
      std::vector<float>& own = weights[node].*part;
      const std::vector<float>& slopes = gradients[node].*part;
      for (std::size_t i = 0; i < own.size(); ++i) change(own[i], slopes[i], node, part, i);
    }
  }
}

using Part = std::vector<float> NodeWeights::*;

void sgd(const OptimizerSettings& settings, OptimizerState& state, NetworkWeights& weights,
         const NetworkWeights& gradients, double learning_rate) {
  const auto decay = static_cast<float>(settings.weight_decay);
  const auto momentum = static_cast<float>(settings.momentum);
  const auto rate = static_cast<float>(learning_rate);
  for_all(weights, gradients, [&](float& w, float g, std::size_t node, Part part, std::size_t i) {
    g += decay * w;
    if (momentum != 0) {
      float& m = (state.first[node].*part)[i];
      g = m = momentum * m + g;
    }
    w -= rate * g;
  });
}

void adam(const OptimizerSettings& settings, OptimizerState& state, NetworkWeights& weights,
          const NetworkWeights& gradients, double learning_rate) {
  const auto updates = static_cast<double>(state.updates);
  const bool decoupled = settings.kind == OptimizerKind::adamw;
  const auto kept = static_cast<float>(decoupled ? 1 - learning_rate * settings.weight_decay : 1);
  const auto decay = static_cast<float>(decoupled ? 0 : settings.weight_decay);
  const auto b1 = static_cast<float>(settings.beta1);
  const auto b2 = static_cast<float>(settings.beta2);
  const auto new_1 = static_cast<float>(1 - settings.beta1);
  const auto new_2 = static_cast<float>(1 - settings.beta2);
  const auto step = static_cast<float>(learning_rate / (1 - std::pow(settings.beta1, updates)));
  const auto root = static_cast<float>(std::sqrt(1 - std::pow(settings.beta2, updates)));
  const auto epsilon = static_cast<float>(settings.epsilon);
  for_all(weights, gradients, [&](float& w, float g, std::size_t node, Part part, std::size_t i) {
    g += decay * w;
    float& m = (state.first[node].*part)[i];
    float& v = (state.second[node].*part)[i];
    m = b1 * m + new_1 * g;
    v = b2 * v + new_2 * g * g;
    w = kept * w - step * m / (std::sqrt(v) / root + epsilon);
  });
}

}  // namespace

bool have_equal_sizes(const NetworkWeights& a, const NetworkWeights& b) {
  const auto equal = [](const NodeWeights& one, const NodeWeights& other) {
    return std::all_of(weight_parts.begin(), weight_parts.end(),
                       [&](auto part) { return (one.*part).size() == (other.*part).size(); });
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
}

bool have_equal_bits(const NetworkWeights& a, const NetworkWeights& b) {
  const auto equal = [](const NodeWeights& one, const NodeWeights& other) {
    return std::all_of(weight_parts.begin(), weight_parts.end(), [&](auto part) {
      const std::vector<float>& own = one.*part;
      return own.empty() || std::memcmp(own.data(), (other.*part).data(), own.size() * sizeof(float)) == 0;
    });
  };
  return have_equal_sizes(a, b) && std::equal(a.begin(), a.end(), b.begin(), equal);
}

NetworkWeights zeros_like(const NetworkWeights& weights) {
  NetworkWeights zeros(weights.size());
  for (std::size_t node = 0; node < weights.size(); ++node) {
    for (const auto part : weight_parts) (zeros[node].*part).resize((weights[node].*part).size());
  }
  return zeros;
}

double global_norm(const NetworkWeights& gradients) {
  double sum = 0;
  for (const NodeWeights& node : gradients) {
    for (const auto part : weight_parts) {
      for (const float g : node.*part) sum += static_cast<double>(g) * g;
    }
  }
  return std::sqrt(sum);
}

double clip(NetworkWeights& gradients, double longest) {
  constexpr double tiny = 1e-6;
  const double norm = global_norm(gradients);
  const double scale = longest / (norm + tiny);
  if (!(scale < 1)) return norm;
  for (NodeWeights& node : gradients) {
    for (const auto part : weight_parts) {
      for (float& g : node.*part) g *= static_cast<float>(scale);
    }
  }
  return norm;
}

Optimizer::Optimizer(const OptimizerSettings& settings, const NetworkWeights& weights) : settings_(settings) {
  const bool is_adam = settings.kind != OptimizerKind::sgd;
  if (is_adam || settings.momentum != 0) state_.first = zeros_like(weights);
  if (is_adam) state_.second = zeros_like(weights);
}

double Optimizer::update(NetworkWeights& weights, NetworkWeights& gradients, double learning_rate) {
  const double norm = settings_.clip_norm ? clip(gradients, *settings_.clip_norm) : global_norm(gradients);
  ++state_.updates;
  const auto change = settings_.kind == OptimizerKind::sgd ? sgd : adam;
  change(settings_, state_, weights, gradients, learning_rate);
  return norm;
}

bool Optimizer::restore(OptimizerState state) {
  if (!have_equal_sizes(state.first, state_.first) || !have_equal_sizes(state.second, state_.second)) return false;
  state_ = std::move(state);
  return true;
}

std::int64_t Optimizer::state_bytes(const OptimizerSettings& settings, std::int64_t weight_bytes) {
  if (settings.kind != OptimizerKind::sgd) return mul(2, weight_bytes);
  return settings.momentum == 0 ? 0 : weight_bytes;
}

}  // namespace znni
