#include "server/train/validation/score_histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace znni {
namespace {

struct Scored {
  float score = 0;
  bool is_one = false;
};

ScoreHistogram histogram_of(const std::vector<Scored>& all) {
  ScoreHistogram histogram;
  for (const Scored& each : all) histogram.add(each.score, each.is_one);
  return histogram;
}

// Sorts all scores, and takes a threshold at each distinct one.
PrecisionRecall sorted_measure(std::vector<Scored> all) {
  std::stable_sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
  const auto ones =
      static_cast<double>(std::count_if(all.begin(), all.end(), [](const Scored& each) { return each.is_one; }));
  PrecisionRecall found;
  double hits = 0;
  double recall_before = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    hits += all[i].is_one ? 1 : 0;
    if (i + 1 < all.size() && all[i + 1].score == all[i].score) continue;
    const double precision = hits / static_cast<double>(i + 1);
    const double recall = hits / ones;
    found.average_precision += precision * (recall - recall_before);
    recall_before = recall;
    const double f1 = precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0;
    if (f1 > found.best_f1) found = {found.average_precision, f1, all[i].score};
  }
  return found;
}

TEST(ScoreHistogram, MeasuresAFewScores) {
  // From above: 1 of 1, 1 of 2, 2 of 3, and 2 of 4 are ones.
  const auto found = histogram_of({{3, true}, {2, false}, {1, true}, {-1, false}}).measure();
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->average_precision, 0.5 * 1 + 0.5 * 2 / 3);
  EXPECT_DOUBLE_EQ(found->best_f1, 0.8);  // precision 2/3, recall 1
  EXPECT_EQ(found->best_threshold, 1);
}

TEST(ScoreHistogram, EqualScoresAreOneThreshold) {
  const auto found = histogram_of({{0.5F, true}, {0.5F, false}, {0.5F, false}, {0.5F, true}}).measure();
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->average_precision, 0.5);
}

TEST(ScoreHistogram, WithoutOnesThereIsNoRecall) {
  EXPECT_FALSE(ScoreHistogram().measure());
  EXPECT_FALSE(histogram_of({{1, false}}).measure());
  EXPECT_DOUBLE_EQ(histogram_of({{1, true}}).measure()->average_precision, 1);
}

TEST(ScoreHistogram, TheOutermostBinsTakeWhatIsBeyond) {
  const float infinite = std::numeric_limits<float>::infinity();
  const auto found = histogram_of({{infinite, true}, {1e30F, false}, {-infinite, true}, {-1e30F, false}}).measure();
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->average_precision, 0.5);
  EXPECT_NEAR(found->best_threshold, -32, 0);
}

// A hundred thousand logits of a network that is neither good nor bad.
TEST(ScoreHistogram, IsNearWhatSortingGives) {
  std::mt19937_64 engine(3);
  std::normal_distribution<float> normal;
  for (const float distance : {0.0F, 1.0F, 3.0F}) {
    std::vector<Scored> all;
    for (int i = 0; i < 100000; ++i) {
      const bool is_one = engine() % 5 == 0;
      all.push_back({2 * normal(engine) + (is_one ? distance : -distance), is_one});
    }
    const PrecisionRecall exact = sorted_measure(all);
    const auto found = histogram_of(all).measure();
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->average_precision, exact.average_precision, 1e-4);
    EXPECT_NEAR(found->best_f1, exact.best_f1, 1e-4);
    EXPECT_NEAR(found->best_threshold, exact.best_threshold, 0.1);
  }
}

}  // namespace
}  // namespace znni
