#include "tests/bench/median.hpp"

#include <gtest/gtest.h>

namespace znni::bench {
namespace {

TEST(BenchMedian, IsTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2);
  EXPECT_EQ(median({5}), 5);
}

}  // namespace
}  // namespace znni::bench
