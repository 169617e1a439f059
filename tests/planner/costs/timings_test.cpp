#include "planner/costs/timings.hpp"

#include <gtest/gtest.h>

#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

const LayerProblem problem = ConvProblem{{1, 2, Vec3::cube(8)}, 3, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};

DeviceSpec device() {
  DeviceSpec spec;
  spec.name = "here";
  spec.threads = 2;
  return spec;
}

Estimate estimate() { return drawn::make_estimate(problem, drawn::planar, drawn::planar, 1); }

TimingRecord record() {
  return {"drawn.conv.a",
          1,
          estimate().variant,
          drawn::planar,
          drawn::planar,
          to_string(problem),
          "here",
          2,
          {3, 1, 2},
          0,
          1.5,
          0,
          {}};
}

TEST(PlannerTimings, FindsExactlyWhatWasRecorded) {
  Timings timings;
  timings.insert(record());
  const TimingRecord* found = timings.find(drawn::conv, estimate(), problem, device());
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, record());
}

TEST(PlannerTimings, AnyOtherKeyIsUnknown) {
  std::vector<TimingRecord> others(8, record());
  others[0].primitive = "drawn.conv.b";
  others[1].version = 2;
  others[2].variant = {};
  others[3].in = drawn::blocked;
  others[4].out = drawn::blocked;
  others[5].problem += ", relu";
  others[6].device = "there";
  others[7].threads = 1;
  for (const TimingRecord& other : others) {
    Timings timings;
    timings.insert(other);
    EXPECT_EQ(timings.find(drawn::conv, estimate(), problem, device()), nullptr);
  }
}

TEST(PlannerTimings, ALaterRecordReplacesTheEarlier) {
  Timings timings;
  timings.insert(record());
  TimingRecord other = record();
  other.threads = 4;
  timings.insert(other);
  TimingRecord later = record();
  later.samples = {9};
  later.unix_seconds = 77;
  timings.insert(later);
  EXPECT_EQ(timings.records(), (std::vector<TimingRecord>{later, other}));
}

TEST(PlannerTimings, RepeatabilityIsSpreadAndWaiting) {
  TimingRecord steady = record();
  steady.samples = {1, 1, 1, 1};
  EXPECT_EQ(repeatability(steady), 0.02);
  steady.waited = 0.3;
  EXPECT_EQ(repeatability(steady), 0.3);
  TimingRecord spread = record();
  spread.samples = {1, 1, 2, 2};
  EXPECT_EQ(repeatability(spread), 1);
  spread.samples = {};
  EXPECT_EQ(repeatability(spread), 0);
}

TEST(PlannerTimings, RobustMeanTakesTheLowerHalf) {
  EXPECT_EQ(robust_mean({}), 0);
  EXPECT_EQ(robust_mean({4}), 4);
  EXPECT_EQ(robust_mean({6, 4}), 4);
  EXPECT_EQ(robust_mean({100, 2, 4}), 3);
  EXPECT_EQ(robust_mean({5, 1, 100, 3, 200}), 3);
}

}  // namespace
}  // namespace znni
