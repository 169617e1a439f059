#include "planner/report/curves.hpp"

#include <gtest/gtest.h>

#include "planner/geometry/cube.hpp"
#include "tests/planner/planned.hpp"

namespace znni {
namespace {

class PlannerCurves : public testing::Test {
 protected:
  PlannerCurves() {
    options_.memory_limit = 300000;
    options_.max_extent = 20;
  }
  CurveSetting setting() { return {planned_.network, planned_.spec, planned_.catalogue, *costs_, options_}; }
  std::vector<CurveSample> in_memories(std::int64_t around) {
    const CurveSetting own = setting();
    return by_memory(search_within(own), limits_between(around / 16, 4 * around, around), options_.stop);
  }
  std::string better_than(double voxels_per_second) {
    const CurveSetting own = setting();
    return next_better(search_within(own), options_.memory_limit, voxels_per_second, "host RAM", options_.stop);
  }

  test::Planned planned_;
  std::unique_ptr<CostSource> costs_ = modelled_costs();
  SearchOptions options_;
};

TEST_F(PlannerCurves, LimitsBetweenTwoHaveBothEndsAndRise) {
  const std::int64_t gibi = std::int64_t{1} << 30;
  const std::vector<std::int64_t> limits = limits_between(gibi, 256 * gibi);
  EXPECT_EQ(limits.size(), 17U);
  EXPECT_EQ(limits.front(), gibi);
  EXPECT_EQ(limits[2], 2 * gibi);
  EXPECT_EQ(limits.back(), 256 * gibi);
  EXPECT_TRUE(std::is_sorted(limits.begin(), limits.end()));
  EXPECT_EQ(limits_between(100, 120), (std::vector<std::int64_t>{100, 120}));
  EXPECT_EQ(limits_between(100, 120, 110), (std::vector<std::int64_t>{100, 110, 120}));
  EXPECT_EQ(limits_between(100, 120, 130), (std::vector<std::int64_t>{100, 120}));
  EXPECT_EQ(limits_between(100, 120, 100), (std::vector<std::int64_t>{100, 120}));
  EXPECT_EQ(limits_between(7, 7), std::vector<std::int64_t>{7});
}

TEST_F(PlannerCurves, MoreMemoryIsNeverSlower) {
  double before = 0;
  for (const CurveSample& sample : in_memories(options_.memory_limit)) {
    EXPECT_GE(sample.voxels_per_second, before);
    EXPECT_LE(sample.bytes, sample.limit);
    before = sample.voxels_per_second;
    if (sample.limit == options_.memory_limit) {
      EXPECT_EQ(sample.voxels_per_second, planned_.plan.predicted.voxels_per_second);
      ASSERT_GT(planned_.plan.ladder.size(), 1U);
      EXPECT_EQ(sample.bytes, planned_.plan.memory.total()) << "smaller rungs count";
    }
  }
  EXPECT_GT(before, 0);
}

TEST_F(PlannerCurves, SizesRiseAndFit) {
  const std::vector<CurveSample> samples = by_size(setting(), 5);
  ASSERT_GE(samples.size(), 3U);
  std::int64_t before = 0;
  for (const CurveSample& sample : samples) {
    EXPECT_GT(sample.patch_input.x, before);
    EXPECT_LE(sample.bytes, options_.memory_limit);
    EXPECT_LE(sample.voxels_per_second, planned_.plan.predicted.voxels_per_second * (1 + 1e-9));
    before = sample.patch_input.x;
  }
  EXPECT_GT(samples.front().voxels_per_second, 0);
}

TEST_F(PlannerCurves, NetsOfFewerAxesHaveSizesToo) {
  for (const int rank : {1, 2}) {
    const test::Planned planned(drawn::chain_of_rank(rank));
    const CurveSetting own{planned.network, planned.spec, planned.catalogue, *costs_, options_};
    const std::vector<CurveSample> samples = by_size(own, 5);
    ASSERT_GE(samples.size(), 3U) << rank;
    for (const CurveSample& sample : samples) EXPECT_TRUE(is_cube(sample.patch_input, rank));
    EXPECT_GT(samples.back().voxels_per_second, 0);
  }
}

TEST_F(PlannerCurves, TheNextBetterThingIsNamed) {
  const std::string text = better_than(1);  // slower than anything
  EXPECT_TRUE(text.starts_with("with ")) << text;
  EXPECT_NE(text.find(" more host RAM, "), std::string::npos) << text;
  EXPECT_NE(better_than(1e30).find("would not"), std::string::npos);
}

TEST_F(PlannerCurves, StopsWhenAsked) {
  options_.stop = [] { return true; };
  EXPECT_TRUE(in_memories(1 << 20).empty());
  EXPECT_TRUE(by_size(setting()).empty());
  EXPECT_EQ(better_than(1), "");
}

}  // namespace
}  // namespace znni
