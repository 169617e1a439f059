#include "planner/measure/measured.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/planner/plain_device.hpp"

namespace znni {
namespace {

const LayerProblem softmax = AcrossChannelsProblem{{1, 2, Vec3::cube(6)}};

class PlannerMeasured : public testing::Test {
 protected:
  PlannerMeasured() {
    spec_.name = "plain device";
    options_.memory_limit = 1 << 20;
    options_.enough = 1e-6;
  }

  Measurer measurer(Result<void> told = {}) {
    const OpenDevice open = [this](std::int64_t budget) -> Result<std::unique_ptr<Device>> {
      ++opened_;
      return std::unique_ptr<Device>(std::make_unique<plain::PlainDevice>(spec_, budget));
    };
    return {open, spec_, timings_, options_, [this, told](const TimingRecord& record) {
              told_.push_back(record);
              return told;
            }};
  }

  std::vector<Way> ways() const {
    std::vector<Way> all;
    const Result<std::vector<Estimate>> estimates = plain::describe_mean(softmax, spec_);
    for (const Estimate& estimate : *estimates) {
      all.push_back({&plain::mean, estimate, estimate.time});
    }
    return all;
  }

  std::vector<std::int64_t> measured_settings() const {
    std::vector<std::int64_t> settings;
    for (const TimingRecord& record : timings_.records()) settings.push_back(setting(record.variant, "setting", 0));
    std::sort(settings.begin(), settings.end());
    return settings;
  }

  DeviceSpec spec_;
  Timings timings_;
  MeasureOptions options_;
  std::vector<TimingRecord> told_;
  int opened_ = 0;
};

TEST_F(PlannerMeasured, SkipsTheSlowAndGivesUpWhatFails) {
  Measurer measurer = this->measurer();
  const Result<void> done = measurer.measure(softmax, ways());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(measured_settings(), (std::vector<std::int64_t>{1, 2}));  // 3 fails, 4 is modelled at four times the best
  EXPECT_EQ(told_, timings_.records());
  EXPECT_EQ(measurer.records_made(), 2);
  for (const TimingRecord& record : timings_.records()) {
    EXPECT_EQ(record.device, "plain device");
    EXPECT_EQ(record.problem, to_string(softmax));
    EXPECT_GT(record.modelled, 0);
    EXPECT_GT(record.unix_seconds, 0);
    ASSERT_FALSE(record.samples.empty());
    EXPECT_GT(*std::min_element(record.samples.begin(), record.samples.end()), 0);
  }
}

TEST_F(PlannerMeasured, OneWayAloneGetsThreeSamples) {
  Measurer measurer = this->measurer();
  ASSERT_TRUE(measurer.measure(softmax, {ways().front()}));
  ASSERT_EQ(timings_.records().size(), 1U);
  EXPECT_GE(timings_.records().front().samples.size(), 3U);
}

TEST_F(PlannerMeasured, SlowWaysGetAsManySamplesAsAsked) {
  options_.drop_ratio = 0;  // every way counts as slower
  options_.max_samples = 2;
  for (const std::size_t least : {1U, 2U}) {
    timings_ = {};
    options_.min_samples = static_cast<int>(least);
    ASSERT_TRUE(measurer().measure(softmax, {ways().front()}));
    EXPECT_EQ(timings_.records().at(0).samples.size(), least);
  }
}

TEST_F(PlannerMeasured, NothingIsMeasuredTwice) {
  Measurer measurer = this->measurer();
  ASSERT_TRUE(measurer.measure(softmax, ways()));
  const std::vector<TimingRecord> before = timings_.records();
  ASSERT_TRUE(measurer.measure(softmax, ways()));
  EXPECT_EQ(timings_.records(), before);
  EXPECT_EQ(opened_, 1);
  for (const Way& way : ways()) {
    const std::int64_t which = setting(way.estimate.variant, "setting", 0);
    EXPECT_EQ(measurer.measurable(softmax, way), which == 4) << which;
  }
}

TEST_F(PlannerMeasured, WhatABusyMachineMadeIsMadeAnewWhenAsked) {
  TimingRecord busy{
      "plain.mean", 1, ways()[0].estimate.variant, {}, {}, to_string(softmax), "plain device", 1, {7}, 0, 1, 0.5, {}};
  timings_.insert(busy);
  EXPECT_FALSE(measurer().measurable(softmax, ways()[0]));
  options_.busy_again = true;
  Measurer measurer = this->measurer();
  EXPECT_TRUE(measurer.measurable(softmax, ways()[0]));
  ASSERT_TRUE(measurer.measure(softmax, {ways()[0]}));
  EXPECT_LT(robust_mean(timings_.records().at(0).samples), 7);
  EXPECT_FALSE(measurer.measurable(softmax, ways()[0]));
}

TEST_F(PlannerMeasured, WhatNeedsMoreThanTheLimitIsNotRun) {
  options_.memory_limit = pack(ways().front().estimate.memory).bytes + 399;
  Measurer measurer = this->measurer();
  ASSERT_TRUE(measurer.measure(softmax, ways()));
  EXPECT_TRUE(timings_.records().empty());
  EXPECT_FALSE(measurer.measurable(softmax, ways().front()));
}

TEST_F(PlannerMeasured, WaysThatDoNotFitSideBySideTakeTurns) {
  options_.memory_limit = pack(ways().front().estimate.memory).bytes + 1000;
  Measurer measurer = this->measurer();
  ASSERT_TRUE(measurer.measure(softmax, ways()));
  EXPECT_EQ(measured_settings(), (std::vector<std::int64_t>{1, 2}));
}

TEST_F(PlannerMeasured, TimeThatIsUpEndsIt) {
  options_.time_limit = 0;
  Measurer measurer = this->measurer();
  EXPECT_TRUE(measurer.time_is_up());
  ASSERT_TRUE(measurer.measure(softmax, ways()));
  EXPECT_TRUE(timings_.records().empty());
  EXPECT_TRUE(measurer.measurable(softmax, ways().front()));
}

TEST_F(PlannerMeasured, ARecordThatCannotBeKeptIsAnError) {
  Measurer measurer = this->measurer(Error{ErrorCode::unavailable, "disk full"});
  const Result<void> done = measurer.measure(softmax, ways());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "disk full");
}

TEST_F(PlannerMeasured, InAChildJustTheSame) {
  options_.in_child = true;
  Measurer measurer = this->measurer();
  const Result<void> done = measurer.measure(softmax, ways());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(measured_settings(), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(opened_, 0);  // not in this process
  EXPECT_EQ(told_, timings_.records());
  for (const TimingRecord& record : timings_.records()) EXPECT_GE(record.samples.size(), 1U);
  ASSERT_EQ(measurer.failures().size(), 1U);
  EXPECT_NE(measurer.failures().front().find("refuses to run"), std::string::npos);
  // A way that did not run cannot be planned with, however fast its formula is.
  const std::unique_ptr<CostSource> costs = measurer.costs();
  const auto cost = [&](std::int64_t setting, Seconds modelled) {
    return costs->cost(softmax, plain::mean, plain::mean_estimate(softmax, setting, modelled)).seconds;
  };
  EXPECT_GT(cost(3, 2.5e-3), 1e4 * cost(4, 4e-3));
}

// Breaks the process down in setting 1.
Result<std::unique_ptr<PreparedLayer>> prepare_bad(const LayerProblem& problem, const Estimate& chosen,
                                                   const LayerWeights& weights, Arena& persistent, Device& device) {
  if (setting(chosen.variant, "setting", 0) == 1) std::abort();
  return plain::prepare_mean(problem, chosen, weights, persistent, device);
}
constexpr Primitive bad = {"plain.bad", 1, DeviceKind::cpu, plain::describe_mean, prepare_bad};

TEST_F(PlannerMeasured, AWayThatBreaksDownCostsItselfAlone) {
  options_.in_child = true;
  Measurer measurer = this->measurer();
  std::vector<Way> all = ways();
  for (Way& way : all) way.primitive = &bad;
  const Result<void> done = measurer.measure(softmax, all);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(measured_settings(), std::vector<std::int64_t>{2});
  ASSERT_EQ(measurer.failures().size(), 2U);
  EXPECT_NE(measurer.failures().front().find("plain.bad on softmax 1x2x6x6x6: was ended by signal 6"),
            std::string::npos)
      << measurer.failures().front();
  EXPECT_FALSE(measurer.measurable(softmax, all.front()));
}

TEST_F(PlannerMeasured, CostsTellMeasuredFromRecordedAndModelled) {
  TimingRecord old{
      "plain.mean", 1, ways()[1].estimate.variant, {}, {}, to_string(softmax), "plain device", 1, {7}, 0, 1, 0, {}};
  timings_.insert(old);
  Measurer measurer = this->measurer();
  ASSERT_TRUE(measurer.measure(softmax, {ways().front()}));
  const std::unique_ptr<CostSource> costs = measurer.costs();
  const auto cost = [&](std::size_t way) { return costs->cost(softmax, plain::mean, ways()[way].estimate); };
  EXPECT_EQ(cost(0).basis, Basis::measured);
  EXPECT_EQ(cost(1).basis, Basis::recorded);
  EXPECT_EQ(cost(1).seconds, 7);
  EXPECT_EQ(cost(3).basis, Basis::model);
  const Seconds told = recorded_costs(timings_, spec_)->cost(softmax, plain::mean, ways()[3].estimate).seconds;
  EXPECT_DOUBLE_EQ(cost(3).seconds, 1.05 * told);  // no promise within the noise beats what was measured
}

}  // namespace
}  // namespace znni
