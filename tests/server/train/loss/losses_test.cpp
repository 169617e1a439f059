#include "server/train/loss/losses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace znni {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr std::size_t voxels = 40;

// The tensors of a loss, with logits in float64: the plain formulas below take them, changed by less than a float can
// be.
struct Case {
  LossSettings settings;
  Probability probability = Probability::sigmoid;
  std::size_t channels = 3;
  std::vector<double> logits;
  std::vector<float> targets;
  std::vector<float> weights;

  [[nodiscard]] double weight_of_class(std::size_t c) const {
    return settings.class_weights.empty() ? 1 : settings.class_weights[c];
  }
  [[nodiscard]] double logit(std::size_t c, std::size_t v) const { return logits[c * voxels + v]; }
  [[nodiscard]] double probability_of(std::size_t c, std::size_t v) const {
    if (probability == Probability::sigmoid) return 1 / (1 + std::exp(-logit(c, v)));
    double sum = 0;
    for (std::size_t each = 0; each < channels; ++each) sum += std::exp(logit(each, v));
    return std::exp(logit(c, v)) / sum;
  }
  // The target of a channel as a probability.
  [[nodiscard]] double truth(std::size_t c, std::size_t v) const {
    if (probability != Probability::softmax) return targets[c * voxels + v];
    return targets[v] == static_cast<float>(c) ? 1 : 0;
  }
};

Case drawn_case(LossKind kind, Probability probability, std::vector<double> class_weights) {
  std::mt19937_64 engine(7);
  const auto uniform = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
  Case drawn{{kind, std::move(class_weights)}, probability, 3, {}, {}, {}};
  const bool is_softmax = probability == Probability::softmax;
  for (std::size_t i = 0; i < 3 * voxels; ++i) drawn.logits.push_back(static_cast<float>(4 * uniform() - 2));
  for (std::size_t i = 0; i < (is_softmax ? 1 : 3) * voxels; ++i) {
    drawn.targets.push_back(is_softmax ? std::floor(static_cast<float>(3 * uniform())) : (engine() & 8) != 0 ? 1 : 0);
  }
  for (std::size_t v = 0; v < voxels; ++v)
    drawn.weights.push_back(v % 5 == 0 ? 0 : static_cast<float>(uniform()) + 0.1F);
  return drawn;
}

double evaluate(const Case& each, std::vector<float>& gradient) {
  const Result<Loss> loss = Loss::make(each.settings, each.probability, static_cast<std::int64_t>(each.channels));
  EXPECT_TRUE(loss);
  const std::vector<float> logits(each.logits.begin(), each.logits.end());
  gradient.assign(logits.size(), 99);
  EXPECT_TRUE(loss->check({each.targets, each.weights}));
  return (*loss)(logits, {each.targets, each.weights}, gradient);
}

// The loss by its formula, with nothing done about rounding.
using Formula = std::function<double(const Case&)>;

double plain_binary(const Case& each) {
  double sum = 0;
  double total = 0;
  for (std::size_t v = 0; v < voxels; ++v) {
    for (std::size_t c = 0; c < each.channels; ++c) {
      const double p = each.probability_of(c, v);
      const double t = each.truth(c, v);
      sum -= each.weights[v] *
             (each.weight_of_class(1) * t * std::log(p) + each.weight_of_class(0) * (1 - t) * std::log(1 - p));
      total += each.weights[v];
    }
  }
  return sum / total;
}

double plain_softmax(const Case& each) {
  double sum = 0;
  double total = 0;
  for (std::size_t v = 0; v < voxels; ++v) {
    const auto truth = static_cast<std::size_t>(each.targets[v]);
    sum -= each.weights[v] * each.weight_of_class(truth) * std::log(each.probability_of(truth, v));
    total += each.weights[v] * each.weight_of_class(truth);
  }
  return sum / total;
}

double plain_square(const Case& each) {
  double sum = 0;
  double total = 0;
  for (std::size_t v = 0; v < voxels; ++v) {
    for (std::size_t c = 0; c < each.channels; ++c) {
      sum += each.weights[v] * std::pow(each.logit(c, v) - each.truth(c, v), 2);
      total += each.weights[v];
    }
  }
  return sum / total;
}

double plain_dice(const Case& each) {
  double sum = 0;
  for (std::size_t c = 0; c < each.channels; ++c) {
    double both = 0;
    double parts = 0;
    for (std::size_t v = 0; v < voxels; ++v) {
      both += each.weights[v] * each.probability_of(c, v) * each.truth(c, v);
      parts += each.weights[v] * (each.probability_of(c, v) + each.truth(c, v));
    }
    sum += (2 * both + 1) / (parts + 1);
  }
  return 1 - sum / static_cast<double>(each.channels);
}

// Compares loss and gradient with the formula and its central differences.
void expect_formula(const Case& each, const Formula& formula) {
  constexpr double step = 1e-5;
  std::vector<float> gradient;
  EXPECT_NEAR(evaluate(each, gradient), formula(each), 1e-12);
  double largest = 0;
  for (const float g : gradient) largest = std::max(largest, static_cast<double>(std::abs(g)));
  for (std::size_t i = 0; i < each.logits.size(); ++i) {
    Case moved = each;
    moved.logits[i] += step;
    const double above = formula(moved);
    moved.logits[i] -= 2 * step;
    ASSERT_NEAR(gradient[i], (above - formula(moved)) / (2 * step), 1e-6 * largest) << i;
  }
}

TEST(Losses, BinaryCrossEntropyIsItsFormula) {
  expect_formula(drawn_case(LossKind::binary_cross_entropy, Probability::sigmoid, {}), plain_binary);
  expect_formula(drawn_case(LossKind::binary_cross_entropy, Probability::sigmoid, {0.5, 3}), plain_binary);
}

TEST(Losses, SoftmaxCrossEntropyIsItsFormula) {
  expect_formula(drawn_case(LossKind::softmax_cross_entropy, Probability::softmax, {}), plain_softmax);
  expect_formula(drawn_case(LossKind::softmax_cross_entropy, Probability::softmax, {0.5, 3, 1}), plain_softmax);
  expect_formula(drawn_case(LossKind::softmax_cross_entropy, Probability::softmax, {0, 3, 1}), plain_softmax);
}

TEST(Losses, SquareIsItsFormula) { expect_formula(drawn_case(LossKind::square, Probability::none, {}), plain_square); }

TEST(Losses, DiceIsItsFormula) {
  expect_formula(drawn_case(LossKind::dice, Probability::sigmoid, {}), plain_dice);
  expect_formula(drawn_case(LossKind::dice, Probability::softmax, {}), plain_dice);
}

// 3 voxels: -log sigmoid(0) = log 2, and so on; the third is unlabelled.
TEST(Losses, ValuesByHand) {
  const std::vector<float> weights = {1, 1, 0};
  std::vector<float> gradient(3);
  const std::vector<float> zeros = {0, 0, 5};
  const std::vector<float> targets = {1, 0, 1};
  const Loss binary = *Loss::make({LossKind::binary_cross_entropy, {}}, Probability::sigmoid, 1);
  EXPECT_DOUBLE_EQ(binary(zeros, {targets, weights}, gradient), std::log(2.0));
  EXPECT_THAT(gradient, testing::ElementsAre(-0.25F, 0.25F, 0));
  const Loss square = *Loss::make({LossKind::square, {}}, Probability::none, 1);
  EXPECT_DOUBLE_EQ(square(zeros, {targets, weights}, gradient), 0.5);
  EXPECT_THAT(gradient, testing::ElementsAre(-1, 0, 0));
}

TEST(Losses, LargeLogitsStayFinite) {
  const std::vector<float> logits = {1000, -1000, 1000, -1000, 3e38F, -3e38F};
  const std::vector<float> weights(6, 1);
  std::vector<float> gradient(6);
  const Loss binary = *Loss::make({LossKind::binary_cross_entropy, {}}, Probability::sigmoid, 1);
  const std::vector<float> wrong = {0, 1, 1, 0, 1, 0};
  EXPECT_DOUBLE_EQ(binary(logits, {wrong, weights}, gradient), 2000.0 / 6);
  EXPECT_FLOAT_EQ(gradient[0], 1.0F / 6);
  EXPECT_EQ(gradient[2], 0);
  const std::vector<float> two_weights(3, 1);
  const std::vector<float> classes = {0, 1, 0};
  const std::vector<float> two_channels = {1000, 1000, 1000, -1000, -1000, -1000};
  const Loss softmax = *Loss::make({LossKind::softmax_cross_entropy, {}}, Probability::softmax, 2);
  EXPECT_DOUBLE_EQ(softmax(two_channels, {classes, two_weights}, gradient), 2000.0 / 3);
}

TEST(Losses, UnlabelledVoxelsHaveNoGradientWhateverTheyHold) {
  for (const LossKind kind : {LossKind::binary_cross_entropy, LossKind::dice}) {
    Case drawn = drawn_case(kind, Probability::sigmoid, {});
    std::vector<float> before;
    const double loss = evaluate(drawn, before);
    drawn.targets[0] = std::nanf("");
    drawn.logits[5] = 1e30;
    std::vector<float> after;
    EXPECT_EQ(evaluate(drawn, after), loss);
    EXPECT_EQ(after, before);
    EXPECT_EQ(after[0], 0);
    EXPECT_NE(after[1], 0);
  }
}

TEST(Losses, WithoutLabelledVoxelsLossAndGradientAreZero) {
  for (const auto& [kind, probability] : {std::pair(LossKind::binary_cross_entropy, Probability::sigmoid),
                                          {LossKind::softmax_cross_entropy, Probability::softmax},
                                          {LossKind::square, Probability::none},
                                          {LossKind::dice, Probability::softmax}}) {
    Case drawn = drawn_case(kind, probability, {});
    std::fill(drawn.weights.begin(), drawn.weights.end(), 0.0F);
    std::vector<float> gradient;
    EXPECT_EQ(evaluate(drawn, gradient), 0);
    EXPECT_THAT(gradient, Each(0));
  }
}

TEST(Losses, WrongTargetsAreNamed) {
  const std::vector<float> weights = {1, 0};
  const auto refused = [&](LossKind kind, Probability probability, std::vector<float> targets) {
    const Loss loss = *Loss::make({kind, {}}, probability, probability == Probability::softmax ? 4 : 1);
    const Result<void> sound = loss.check({targets, weights});
    return sound ? std::string() : sound.error().message;
  };
  EXPECT_EQ(refused(LossKind::binary_cross_entropy, Probability::sigmoid, {2, 0}), "a target is 2; 0 to 1 is right");
  EXPECT_EQ(refused(LossKind::binary_cross_entropy, Probability::sigmoid, {0.5, 7}), "");
  EXPECT_EQ(refused(LossKind::softmax_cross_entropy, Probability::softmax, {4, 0}),
            "a target is 4; a class of the network's output, 0 to 3, is right");
  EXPECT_THAT(refused(LossKind::dice, Probability::softmax, {0.5, 0}), HasSubstr("a target is 0.5; a class"));
  EXPECT_THAT(refused(LossKind::dice, Probability::softmax, {-1, 0}), HasSubstr("a target is -1; a class"));
  EXPECT_EQ(refused(LossKind::square, Probability::none, {9, 0}), "");
  EXPECT_THAT(refused(LossKind::square, Probability::none, {std::nanf(""), 0}), HasSubstr("a finite number"));
}

TEST(Losses, ClassWeightsAreOnePerClass) {
  const Result<Loss> loss = Loss::make({LossKind::softmax_cross_entropy, {1, 2}}, Probability::softmax, 3);
  ASSERT_FALSE(loss);
  EXPECT_EQ(loss.error().message,
            "loss: class_weight is a list of 2 numbers; one for each of the network's 3 classes is right");
}

}  // namespace
}  // namespace znni
