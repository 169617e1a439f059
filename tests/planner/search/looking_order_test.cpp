#include "planner/search/looking_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace znni {
namespace {

TEST(PlannerLookingOrder, HasEveryNumberOnce) {
  for (const std::size_t count : {0, 1, 60, 61, 62, 1000}) {
    std::vector<std::size_t> order = looking_order(count);
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    EXPECT_TRUE(std::is_permutation(order.begin(), order.end(), all.begin(), all.end())) << count;
  }
}

TEST(PlannerLookingOrder, FirstNumbersAreSpreadOverAll) {
  const std::vector<std::size_t> order = looking_order(610);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(order[i], 61 * i);
}

TEST(PlannerLookingOrder, RoundsGrowWithWhatIsKnown) {
  EXPECT_EQ(round_size(0), 16U);
  EXPECT_EQ(round_size(800), 100U);
  EXPECT_EQ(round_size(100'000), 256U);
}

}  // namespace
}  // namespace znni
