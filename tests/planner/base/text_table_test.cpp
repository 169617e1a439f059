#include "planner/base/text_table.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(PlannerTextTable, AlignsTextLeftAndNumbersRight) {
  const std::vector<TextRow> rows = {{"node", "name", "x"}, {"1", "conv1", "a"}, {"10", "p", ""}};
  EXPECT_EQ(text_table(rows), "  node  name   x\n     1  conv1  a\n    10  p\n");
  EXPECT_EQ(text_table({{"a"}}, ""), "a\n");
  EXPECT_EQ(text_table({}), "");
}

TEST(PlannerTextTable, RowsMayBeShort) { EXPECT_EQ(text_table({{"a", "b"}, {"c"}}, ""), "a  b\nc\n"); }

TEST(PlannerTextTable, Seconds) {
  EXPECT_EQ(seconds_text(0.00000123), "1.2 us");
  EXPECT_EQ(seconds_text(0.0456), "45.60 ms");
  EXPECT_EQ(seconds_text(141.9), "141.90 s");
}

TEST(PlannerTextTable, Durations) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(119), "119 s");
  EXPECT_EQ(duration_text(120), "2 min");
  EXPECT_EQ(duration_text(7100), "118 min");
  EXPECT_EQ(duration_text(7200), "2.0 h");
}

TEST(PlannerTextTable, Rates) {
  EXPECT_EQ(rate_text(1.234), "1.23 voxels/s");
  EXPECT_EQ(rate_text(123.4), "123 voxels/s");
  EXPECT_EQ(rate_text(1234), "1,234 voxels/s");
  EXPECT_EQ(rate_text(123456), "123,456 voxels/s");
  EXPECT_EQ(rate_text(1234567.8), "1,234,568 voxels/s");
  EXPECT_EQ(count_text(1234567.8), "1,234,568");
  EXPECT_EQ(fixed_text(2.345, 1), "2.3");
}

}  // namespace
}  // namespace znni
