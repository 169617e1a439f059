#include "server/train/loss/loss_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace znni {
namespace {

constexpr std::size_t voxels = 60;
constexpr std::size_t channels = 3;

// Values of [rows][voxels], of voxels [from, to) alone.
std::vector<float> part_of(const std::vector<float>& values, std::size_t from, std::size_t to) {
  std::vector<float> part;
  for (std::size_t row = 0; row < values.size(); row += voxels) {
    for (std::size_t v = from; v < to; ++v) part.push_back(values[row + v]);
  }
  return part;
}

struct Case {
  LossSettings settings;
  Probability probability = Probability::sigmoid;
};

// The sum over three parts is the loss of the whole.
TEST(LossSum, OfPartsIsTheLossOfTheWhole) {
  const std::vector<Case> cases = {
      {{LossKind::binary_cross_entropy, {}}, Probability::sigmoid},
      {{LossKind::binary_cross_entropy, {1, 2.5}}, Probability::sigmoid},
      {{LossKind::softmax_cross_entropy, {}}, Probability::softmax},
      {{LossKind::softmax_cross_entropy, {1, 0, 3}}, Probability::softmax},
      {{LossKind::square, {}}, Probability::none},
      {{LossKind::dice, {}}, Probability::sigmoid},
      {{LossKind::dice, {}}, Probability::softmax},
  };
  std::mt19937_64 engine(5);
  std::normal_distribution<float> normal;
  for (const Case& each : cases) {
    const Loss loss = Loss::make(each.settings, each.probability, channels).value();
    std::vector<float> logits;
    std::vector<float> truth;
    std::vector<float> weights;
    for (std::size_t i = 0; i < channels * voxels; ++i) logits.push_back(3 * normal(engine));
    const auto classes = each.probability == Probability::softmax ? channels : 2;
    for (std::size_t i = 0; i < static_cast<std::size_t>(loss.target_channels()) * voxels; ++i) {
      truth.push_back(static_cast<float>(engine() % classes));
    }
    for (std::size_t v = 0; v < voxels; ++v) weights.push_back(v % 7 == 0 ? 0.0F : 1.0F);
    std::vector<float> gradient(logits.size());
    const double whole = loss(logits, {truth, weights}, gradient);
    LossSum sum(loss);
    const std::size_t ends[] = {0, 1, 20, voxels};
    for (std::size_t i = 0; i + 1 < std::size(ends); ++i) {
      const std::vector<float> own = part_of(truth, ends[i], ends[i + 1]);
      const std::vector<float> own_weights = part_of(weights, ends[i], ends[i + 1]);
      sum.add(part_of(logits, ends[i], ends[i + 1]), {own, own_weights});
    }
    EXPECT_NEAR(sum.value(), whole, 1e-12 * std::abs(whole)) << to_string(each.settings.kind);
  }
}

TEST(LossSum, WithoutVoxelsItIs0) {
  const Loss entropy = Loss::make({LossKind::binary_cross_entropy, {}}, Probability::sigmoid, 1).value();
  EXPECT_EQ(LossSum(entropy).value(), 0);
  const Loss dice = Loss::make({LossKind::dice, {}}, Probability::sigmoid, 1).value();
  EXPECT_EQ(LossSum(dice).value(), 0);
}

}  // namespace
}  // namespace znni
