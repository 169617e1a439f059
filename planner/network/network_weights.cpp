#include "planner/network/network_weights.hpp"

#include <array>
#include <cmath>
#include <random>
#include <utility>

#include "planner/network/operations/all.hpp"

namespace znni {
namespace {

Result<void> check_size(const std::string& name, const char* what, const std::vector<float>& values,
                        std::int64_t wanted, bool may_be_empty = false) {
  const auto found = static_cast<std::int64_t>(values.size());
  if (found == wanted || (may_be_empty && found == 0)) return {};
  return Error{ErrorCode::invalid_argument, "node " + name + ": " + what + " has " + std::to_string(found) +
                                                " values; it needs " + std::to_string(wanted)};
}

// Normal numbers by Box and Muller: std::normal_distribution is not the same everywhere.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : engine_(seed) {}

  std::vector<float> draw(std::int64_t count, double mean, double deviation) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(mean + deviation * next());
    return values;
  }

 private:
  // Returns a number in (0, 1], so that its logarithm is finite.
  double uniform() { return (static_cast<double>(engine_() >> 11) + 1.0) * 0x1p-53; }
  double next() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    const double angle = 2.0 * 3.14159265358979323846 * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

  std::mt19937_64 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace

WeightSizes weight_sizes(const Operation& operation, std::int64_t f) {
  return by_rules(operation, [&](const auto& rules, const auto& own) { return rules.weights(own, f); });
}

std::int64_t parameter_count(const WeightSizes& sizes) {
  return add(add(sizes.kernels, sizes.bias), add(sizes.scale, sizes.shift));
}

Result<void> check_weights(const Network& network, const NetworkWeights& weights) {
  if (weights.size() != network.nodes.size()) {
    return Error{ErrorCode::invalid_argument, "weights of " + std::to_string(weights.size()) + " nodes for " +
                                                  std::to_string(network.nodes.size()) + " nodes"};
  }
  const std::vector<std::int64_t> f = channels_of(network);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Node& node = network.nodes[i];
    const WeightSizes sizes = weight_sizes(node.operation, f[static_cast<std::size_t>(node.inputs.front())]);
    const NodeWeights& own = weights[i];
    if (Result<void> sound = check_size(node.name, "kernels", own.kernels, sizes.kernels); !sound) return sound;
    if (Result<void> sound = check_size(node.name, "bias", own.bias, sizes.bias, true); !sound) return sound;
    if (Result<void> sound = check_size(node.name, "scale", own.scale, sizes.scale); !sound) return sound;
    if (Result<void> sound = check_size(node.name, "shift", own.shift, sizes.shift); !sound) return sound;
  }
  return {};
}

NetworkWeights random_weights(const Network& network, std::uint64_t seed) {
  constexpr double small = 0.1;
  const std::vector<std::int64_t> f = channels_of(network);
  Normal normal(seed);
  NetworkWeights weights;
  for (const Node& node : network.nodes) {
    const WeightSizes sizes = weight_sizes(node.operation, f[static_cast<std::size_t>(node.inputs.front())]);
    // He et al. 2015: variance 2 over the terms of one output.
    const double terms = sizes.bias == 0 ? 1.0 : static_cast<double>(sizes.kernels) / static_cast<double>(sizes.bias);
    NodeWeights own;
    own.kernels = normal.draw(sizes.kernels, 0.0, std::sqrt(2.0 / terms));
    own.bias = normal.draw(sizes.bias, 0.0, small);
    own.scale = normal.draw(sizes.scale, 1.0, small);
    own.shift = normal.draw(sizes.shift, 0.0, small);
    weights.push_back(std::move(own));
  }
  return weights;
}

}  // namespace znni
