#include "planner/base/subsample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace znni {
namespace {

TEST(Subsample, KeepsTheEnds) {
  std::vector<std::int64_t> extents;
  for (std::int64_t extent = 10; extent <= 500; extent += 7) extents.push_back(extent);
  const std::vector<std::int64_t> thin = subsample(extents, 6);
  EXPECT_LE(thin.size(), 6U);
  EXPECT_GE(thin.size(), 4U);
  EXPECT_EQ(thin.front(), extents.front());
  EXPECT_EQ(thin.back(), extents.back());
  EXPECT_TRUE(std::is_sorted(thin.begin(), thin.end()));
  EXPECT_EQ(subsample(extents, 1000), extents);
}

TEST(Halved, TakesTheLargestAndItsHalves) {
  EXPECT_EQ(halved({3, 4, 5, 6, 7, 8, 9, 10, 20}), (std::vector<std::int64_t>{3, 5, 10, 20}));
  EXPECT_EQ(halved({1, 2, 3, 4}), (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(halved({10, 17, 24}), (std::vector<std::int64_t>{10, 24}));
  EXPECT_EQ(halved({7}), (std::vector<std::int64_t>{7}));
  EXPECT_TRUE(halved({}).empty());
}

}  // namespace
}  // namespace znni
