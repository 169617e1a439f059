#include "server/train/curve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace znni {
namespace {

using testing::HasSubstr;
using testing::Not;

ValidationScore scored(double loss, double average_precision) {
  ValidationScore score = {.loss = loss};
  score.precision_recall = PrecisionRecall{average_precision, 0, 0};
  return score;
}

std::ptrdiff_t count(const std::string& text, const std::string& part) {
  std::ptrdiff_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(TrainCurve, ShowsLossScoreAndRate) {
  TrainCurve curve;
  for (std::int64_t step = 1; step <= 4; ++step) curve.add_step(step, 1.0 / static_cast<double>(step), 0.25);
  curve.add_validation(2, scored(0.75, 0.5));
  curve.add_validation(4, scored(0.5, 0.625));
  const std::string svg = curve.svg();
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"730\""));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr(">loss, and validation loss (orange)</text>"));
  EXPECT_THAT(svg, HasSubstr(">validation: average precision</text>"));
  EXPECT_THAT(svg, HasSubstr(">learning rate</text>"));
  EXPECT_EQ(count(svg, "<circle"), 4) << "two validations, of loss and score";
  EXPECT_EQ(count(svg, "<polyline"), 5);
  EXPECT_THAT(svg, HasSubstr("260,")) << "step 1 of 4, a quarter of the width";
  EXPECT_THAT(svg, HasSubstr("points=\"430,440 770,270 ")) << "the scores, in the second panel";
}

TEST(TrainCurve, WithoutValidationsItHasTwoParts) {
  TrainCurve curve;
  EXPECT_THAT(curve.svg(), HasSubstr("height=\"500\"")) << "an empty one is a picture, too";
  curve.add_step(1, 2, 0.1);
  EXPECT_THAT(curve.svg(), HasSubstr(">loss</text>"));
  EXPECT_THAT(curve.svg(), Not(HasSubstr("validation")));
}

TEST(TrainCurve, ClassesAreScoredByDice) {
  TrainCurve curve;
  curve.add_validation(1, {.loss = 1, .accuracy = 0.5, .mean_dice = 0.25});
  EXPECT_THAT(curve.svg(), HasSubstr(">validation: mean Dice</text>"));
}

// Ten times as many steps make no longer a picture, and the mean of the losses stays.
TEST(TrainCurve, LongTrainingsAreAveraged) {
  TrainCurve curve;
  for (std::int64_t step = 1; step <= 100000; ++step) {
    curve.add_step(step, step % 2 == 0 ? 0 : 2, 0.5);
    if (step % 10 == 0) curve.add_validation(step, scored(1, 0.5));
  }
  const std::string svg = curve.svg();
  EXPECT_LT(svg.size(), 300000U);
  EXPECT_LE(count(svg, "<circle"), 2 * static_cast<std::ptrdiff_t>(TrainCurve::max_points));
  EXPECT_EQ(count(svg, ">100000</text>"), 3) << "the last step, at the end of each part";
  EXPECT_EQ(count(svg, ">75000</text>"), 3);
  EXPECT_GT(count(svg, ">1</text>"), 0) << "all points have the mean of 0 and 2";
}

}  // namespace
}  // namespace znni
