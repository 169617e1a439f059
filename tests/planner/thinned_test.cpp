#include "planner/thinned.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace znni {
namespace {

TEST(Thinned, KeepsTheEnds) {
  std::vector<std::int64_t> extents;
  for (std::int64_t extent = 10; extent <= 500; extent += 7) extents.push_back(extent);
  const std::vector<std::int64_t> thin = thinned(extents, 6);
  EXPECT_LE(thin.size(), 6U);
  EXPECT_GE(thin.size(), 4U);
  EXPECT_EQ(thin.front(), extents.front());
  EXPECT_EQ(thin.back(), extents.back());
  EXPECT_TRUE(std::is_sorted(thin.begin(), thin.end()));
  EXPECT_EQ(thinned(extents, 1000), extents);
}

}  // namespace
}  // namespace znni
