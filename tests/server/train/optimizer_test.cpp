#include "server/train/optimizer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace znni {
namespace {

// Weights of two nodes: kernels, bias, scale and shift occur.
NetworkWeights drawn_weights(std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto draw = [&](std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(static_cast<double>(engine() >> 11) * 0x1p-52 - 1);
    return values;
  };
  NetworkWeights weights(3);
  weights[0] = {draw(5), draw(2), {}, {}};
  weights[2] = {draw(3), {}, draw(2), draw(2)};
  return weights;
}

std::vector<double> flat(const NetworkWeights& weights) {
  std::vector<double> values;
  for (const NodeWeights& node : weights) {
    for (const std::vector<float>* part : {&node.kernels, &node.bias, &node.scale, &node.shift}) {
      values.insert(values.end(), part->begin(), part->end());
    }
  }
  return values;
}

// One weight in float64, by the formulas of the documentation of torch.optim.
struct Reference {
  double w = 0;
  double m = 0;
  double v = 0;

  void sgd(double g, double rate, double momentum, double decay, bool is_first) {
    g += decay * w;
    m = is_first ? g : momentum * m + g;
    w -= rate * (momentum == 0 ? g : m);
  }
  void adam(double g, double rate, const OptimizerSettings& settings, int t) {
    if (settings.kind == OptimizerKind::adamw) w -= rate * settings.weight_decay * w;
    if (settings.kind == OptimizerKind::adam) g += settings.weight_decay * w;
    m = settings.beta1 * m + (1 - settings.beta1) * g;
    v = settings.beta2 * v + (1 - settings.beta2) * g * g;
    const double mean = m / (1 - std::pow(settings.beta1, t));
    const double square = v / (1 - std::pow(settings.beta2, t));
    w -= rate * mean / (std::sqrt(square) + settings.epsilon);
  }
};

// Compares ten updates with the reference.
void expect_reference(const OptimizerSettings& settings) {
  NetworkWeights weights = drawn_weights(1);
  std::vector<Reference> wanted;
  for (const double w : flat(weights)) wanted.push_back({w});
  Optimizer optimizer(settings, weights);
  for (int t = 1; t <= 10; ++t) {
    NetworkWeights gradients = drawn_weights(100 + static_cast<std::uint64_t>(t));
    const std::vector<double> g = flat(gradients);
    const double rate = 0.1 / t;
    optimizer.update(weights, gradients, rate);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (settings.kind == OptimizerKind::sgd) {
        wanted[i].sgd(g[i], rate, settings.momentum, settings.weight_decay, t == 1);
      } else {
        wanted[i].adam(g[i], rate, settings, t);
      }
      ASSERT_NEAR(flat(weights)[i], wanted[i].w, 2e-6) << t << ", " << i;
    }
  }
  EXPECT_EQ(optimizer.state().updates, 10);
}

TEST(Optimizer, SgdIsItsFormula) {
  expect_reference({.kind = OptimizerKind::sgd});
  expect_reference({.kind = OptimizerKind::sgd, .momentum = 0.9});
  expect_reference({.kind = OptimizerKind::sgd, .momentum = 0.5, .weight_decay = 0.1});
}

TEST(Optimizer, AdamIsItsFormula) {
  expect_reference({.kind = OptimizerKind::adam});
  expect_reference({.kind = OptimizerKind::adam, .beta1 = 0.5, .beta2 = 0.7, .epsilon = 0.1, .weight_decay = 0.3});
}

TEST(Optimizer, AdamWIsItsFormula) { expect_reference({.kind = OptimizerKind::adamw, .weight_decay = 0.3}); }

// By hand: the first step of Adam is the learning rate against the sign of the gradient.
TEST(Optimizer, TheFirstStepOfAdamIsTheRate) {
  NetworkWeights weights = {{{1, 1}, {}, {}, {}}};
  NetworkWeights gradients = {{{0.001F, -20}, {}, {}, {}}};
  Optimizer optimizer({.kind = OptimizerKind::adam}, weights);
  optimizer.update(weights, gradients, 0.25);
  EXPECT_NEAR(weights[0].kernels[0], 0.75, 1e-5);
  EXPECT_NEAR(weights[0].kernels[1], 1.25, 1e-5);
}

TEST(Optimizer, ClipsByTheNormOfAllGradients) {
  NetworkWeights gradients = {{{3}, {}, {}, {}}, {{}, {}, {0}, {4}}};
  EXPECT_DOUBLE_EQ(global_norm(gradients), 5);
  EXPECT_DOUBLE_EQ(clip(gradients, 6), 5);
  EXPECT_EQ(gradients[0].kernels[0], 3);
  EXPECT_DOUBLE_EQ(clip(gradients, 1), 5);
  EXPECT_NEAR(gradients[0].kernels[0], 0.6, 1e-6);
  EXPECT_NEAR(gradients[1].shift[0], 0.8, 1e-6);
}

TEST(Optimizer, UpdatesByClippedGradients) {
  NetworkWeights weights = {{{0, 0}, {}, {}, {}}};
  NetworkWeights gradients = {{{30, -40}, {}, {}, {}}};
  Optimizer optimizer({.kind = OptimizerKind::sgd, .clip_norm = 10.0}, weights);
  EXPECT_DOUBLE_EQ(optimizer.update(weights, gradients, 1), 50);
  EXPECT_NEAR(weights[0].kernels[0], -6, 1e-5);
  EXPECT_NEAR(weights[0].kernels[1], 8, 1e-5);
}

TEST(Optimizer, ContinuesFromItsStateBitByBit) {
  for (const OptimizerSettings& settings : {OptimizerSettings{.kind = OptimizerKind::sgd, .momentum = 0.9},
                                            OptimizerSettings{.kind = OptimizerKind::adamw, .weight_decay = 0.1}}) {
    NetworkWeights through = drawn_weights(1);
    Optimizer uninterrupted(settings, through);
    NetworkWeights cut = through;
    Optimizer before(settings, cut);
    const auto step = [](Optimizer& optimizer, NetworkWeights& weights, std::uint64_t seed) {
      NetworkWeights gradients = drawn_weights(seed);
      optimizer.update(weights, gradients, 0.1);
    };
    for (const std::uint64_t seed : {2, 3, 4, 5}) step(uninterrupted, through, seed);
    for (const std::uint64_t seed : {2, 3}) step(before, cut, seed);
    Optimizer after(settings, cut);
    ASSERT_TRUE(after.restore(before.state()));
    for (const std::uint64_t seed : {4, 5}) step(after, cut, seed);
    EXPECT_EQ(flat(cut), flat(through));
  }
}

TEST(Optimizer, RefusesStatesOfOtherSizes) {
  const NetworkWeights weights = drawn_weights(1);
  Optimizer adam({.kind = OptimizerKind::adam}, weights);
  EXPECT_FALSE(adam.restore(Optimizer({.kind = OptimizerKind::sgd, .momentum = 0.9}, weights).state()));
  NetworkWeights larger = weights;
  larger[2].shift.push_back(0);
  EXPECT_FALSE(adam.restore(Optimizer({.kind = OptimizerKind::adam}, larger).state()));
  EXPECT_TRUE(adam.restore(Optimizer({.kind = OptimizerKind::adamw}, weights).state()));
}

TEST(Optimizer, SaysWhatItsStateTakes) {
  EXPECT_EQ(Optimizer::state_bytes({.kind = OptimizerKind::sgd}, 100), 0);
  EXPECT_EQ(Optimizer::state_bytes({.kind = OptimizerKind::sgd, .momentum = 0.1}, 100), 100);
  EXPECT_EQ(Optimizer::state_bytes({.kind = OptimizerKind::adamw}, 100), 200);
}

}  // namespace
}  // namespace znni
