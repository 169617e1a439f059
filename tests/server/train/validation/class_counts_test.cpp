#include "server/train/validation/class_counts.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(ClassCounts, CountsWhatIsNamedRightly) {
  ClassCounts counts(4);
  counts.add(0, 0);
  counts.add(0, 0);
  counts.add(0, 1);
  counts.add(1, 1);
  counts.add(2, 1);
  EXPECT_DOUBLE_EQ(counts.accuracy().value(), 0.6);
  const auto dice = counts.dice();
  ASSERT_EQ(dice.size(), 4U);
  EXPECT_DOUBLE_EQ(dice[0].value(), 2.0 * 2 / (3 + 2));
  EXPECT_DOUBLE_EQ(dice[1].value(), 2.0 * 1 / (1 + 3));
  EXPECT_DOUBLE_EQ(dice[2].value(), 0);
  EXPECT_FALSE(dice[3]) << "a class that does not occur";
  EXPECT_DOUBLE_EQ(counts.mean_dice().value(), (0.8 + 0.5 + 0) / 3);
}

TEST(ClassCounts, WithoutVoxelsThereIsNothing) {
  const ClassCounts counts(2);
  EXPECT_FALSE(counts.accuracy());
  EXPECT_FALSE(counts.mean_dice());
}

}  // namespace
}  // namespace znni
