#include "server/train/validation/validation_scores.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace znni {
namespace {

Loss loss_of(LossKind kind, Probability probability, std::int64_t channels) {
  return Loss::make({kind, {}}, probability, channels).value();
}

TEST(ValidationScores, OfBoundariesAreThoseOfLogits) {
  const Loss loss = loss_of(LossKind::binary_cross_entropy, Probability::sigmoid, 1);
  ValidationScores scores(loss, true);
  scores.add(std::vector<float>{3, 2, 9}, {std::vector<float>{1, 0, 0}, std::vector<float>{1, 1, 0}});
  scores.add(std::vector<float>{1, -1}, {std::vector<float>{1, 0}, std::vector<float>{1, 1}});
  const ValidationScore score = scores.score();
  EXPECT_EQ(scores.voxels(), 4);
  EXPECT_GT(score.loss, 0);
  ASSERT_TRUE(score.precision_recall);
  EXPECT_DOUBLE_EQ(score.precision_recall->average_precision, 0.5 + 0.5 * 2 / 3);
  EXPECT_DOUBLE_EQ(score.precision_recall->best_f1, 0.8);
  EXPECT_DOUBLE_EQ(score.precision_recall->best_threshold, 1 / (1 + std::exp(-1.0))) << "a probability";
  EXPECT_FALSE(score.accuracy);
  EXPECT_EQ(to_string(score), "average precision 0.8333");
}

TEST(ValidationScores, TheChannelsOfAffinitiesAreCountedTogether) {
  const Loss loss = loss_of(LossKind::square, Probability::none, 3);
  ValidationScores scores(loss, true);
  const std::vector<float> targets = {1, 1, 0, 0, 1, 0};
  scores.add(std::vector<float>{0.9F, 9, 0.2F, 9, 0.1F, 9}, {targets, std::vector<float>{1, 0}});
  const ValidationScore score = scores.score();
  EXPECT_EQ(scores.voxels(), 1);
  ASSERT_TRUE(score.precision_recall);
  EXPECT_DOUBLE_EQ(score.precision_recall->average_precision, 0.5 + 0.5 * 2 / 3);
  EXPECT_NEAR(score.precision_recall->best_threshold, 0.1, 0x1p-11) << "of the output itself";
  EXPECT_EQ(merit(score), score.precision_recall->average_precision);
}

TEST(ValidationScores, OfClassesAreAccuracyAndDice) {
  const Loss loss = loss_of(LossKind::softmax_cross_entropy, Probability::softmax, 3);
  ValidationScores scores(loss, false);
  const std::vector<float> logits = {5, 0, 0, 7,   // class 0
                                     0, 5, 6, 0,   // 1
                                     0, 0, 0, 0};  // 2
  scores.add(logits, {std::vector<float>{0, 1, 2, 1}, std::vector<float>{1, 1, 1, 0}});
  const ValidationScore score = scores.score();
  EXPECT_DOUBLE_EQ(score.accuracy.value(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(score.mean_dice.value(), (1.0 + 2.0 / 3 + 0) / 3);
  EXPECT_EQ(score.dice.size(), 3U);
  EXPECT_FALSE(score.precision_recall);
  EXPECT_EQ(to_string(score), "accuracy 0.6667, mean Dice 0.5556");
  EXPECT_EQ(merit(score), *score.mean_dice);
}

TEST(ValidationScores, OfNumbersAreALossAlone) {
  const Loss loss = loss_of(LossKind::square, Probability::none, 1);
  ValidationScores scores(loss, false);
  scores.add(std::vector<float>{3, 1}, {std::vector<float>{1, 1}, std::vector<float>{1, 1}});
  EXPECT_DOUBLE_EQ(scores.score().loss, 2);
  EXPECT_EQ(to_string(scores.score()), "");
  EXPECT_EQ(merit(scores.score()), -scores.score().loss);
}

}  // namespace
}  // namespace znni
