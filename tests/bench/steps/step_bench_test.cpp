#include "tests/bench/steps/step_bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "tests/support/cpu.hpp"

namespace znni::bench {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const ConvProblem problem{{1, 17, {8, 9, 10}}, 20, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};
constexpr std::int64_t plenty = std::int64_t{1} << 30;

// A gradient whose first element is wrong.
class WrongGradient final : public PreparedGradient {
 public:
  explicit WrongGradient(std::unique_ptr<PreparedGradient> gradient) : gradient_(std::move(gradient)) {}
  Result<void> run(const GradientViews& views, Arena& arena) override {
    Result<void> done = gradient_->run(views, arena);
    views.gradient.at(0, 0, {0, 0, 0}) += 1000.0F;
    return done;
  }

 private:
  std::unique_ptr<PreparedGradient> gradient_;
};

const GradientPrimitive& direct() {
  const auto rows = cpu::gradient_registry();
  return **std::find_if(rows.begin(), rows.end(), [](const auto* row) { return row->name == "cpu.grad.direct"; });
}

Result<std::unique_ptr<PreparedGradient>> prepare_wrong(const GradientProblem& of, const Estimate& chosen,
                                                        const LayerWeights& weights, Arena& persistent,
                                                        Device& device) {
  Result<std::unique_ptr<PreparedGradient>> right = direct().prepare(of, chosen, weights, persistent, device);
  if (!right) return right.error();
  return std::unique_ptr<PreparedGradient>(std::make_unique<WrongGradient>(std::move(*right)));
}

class StepBenchTest : public testing::Test {
 protected:
  Result<std::vector<CallTimes>> run(const Others& others, std::int64_t memory = plenty) {
    return run_step(problem, parts_, memory, others,
                    {device_.get(), 3, stop_.get_token(), [this](const std::string& line) { said_.push_back(line); }});
  }

  const std::array<const Backend*, 1> backends_ = {&cpu::backend()};
  const Result<Catalogue> catalogue_ = Catalogue::make(backends_);
  const std::unique_ptr<Device> device_ = test::open_cpu(2);
  StepParts parts_ = {*catalogue_, cpu::gradient_registry(), device_->spec()};
  std::stop_source stop_;
  std::vector<std::string> said_;
};

TEST_F(StepBenchTest, WhatThePlannerChoseIsTimedAndRight) {
  const auto all = run({});
  ASSERT_TRUE(all) << all.error().message;
  std::array<int, 4> calls = {};
  for (const CallTimes& one : *all) {
    EXPECT_TRUE(one.is_planned);
    ++calls[static_cast<std::size_t>(one.part)];
    EXPECT_THAT(one.times.runs, SizeIs(3));
    EXPECT_GT(one.times.median_wall(), 0);
    EXPECT_GT(one.predicted, 0);
    EXPECT_LT(one.times.error, 1e-5);
  }
  EXPECT_GE(calls[0], 1);
  EXPECT_EQ(calls[1] > 0, calls[3] == 0);
  EXPECT_EQ(calls[2] > 0, calls[3] == 0);
  EXPECT_EQ(said_.back(), "repetition 3 of 3");
  EXPECT_EQ(device_->reserved(MemorySpace::host), 0);
}

TEST_F(StepBenchTest, AStepIsTheSumOfWhatThePlannerChose) {
  const auto all = run({{"cpu.conv.direct", "cpu.grad.direct"}, false});
  ASSERT_TRUE(all) << all.error().message;
  const std::vector<RunTime> sums = step_runs(*all);
  ASSERT_THAT(sums, SizeIs(3));
  Seconds predicted = 0;
  std::vector<RunTime> expected(3);
  for (const CallTimes& one : *all) {
    if (!one.is_planned) continue;
    predicted += one.predicted;
    for (std::size_t i = 0; i < 3; ++i) {
      expected[i].wall += one.times.runs[i].wall;
      expected[i].processor += one.times.runs[i].processor;
    }
  }
  EXPECT_DOUBLE_EQ(predicted_step(*all), predicted);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(sums[i].wall, expected[i].wall);
    EXPECT_DOUBLE_EQ(sums[i].processor, expected[i].processor);
  }
}

TEST_F(StepBenchTest, NamedPrimitivesRunBesideForThePartsThatTheyCompute) {
  const auto all = run({{"cpu.conv.direct", "cpu.grad.direct"}, false});
  ASSERT_TRUE(all) << all.error().message;
  std::vector<std::pair<int, std::string>> others;
  for (const CallTimes& one : *all) {
    if (!one.is_planned) others.emplace_back(one.part, one.times.primitive);
  }
  EXPECT_THAT(others, testing::ElementsAre(std::pair(0, "cpu.conv.direct"), std::pair(1, "cpu.grad.direct"),
                                           std::pair(2, "cpu.grad.direct")));
}

TEST_F(StepBenchTest, OfAllPrimitivesEachRunsOrHasARefusal) {
  const auto all = run({{}, true});
  ASSERT_TRUE(all) << all.error().message;
  int ran = 0;
  for (const CallTimes& one : *all) {
    if (!one.times.ran()) {
      EXPECT_THAT(one.times.refusal, HasSubstr("predicted to take"));
      continue;
    }
    ran += one.is_planned ? 0 : 1;
    EXPECT_LT(one.times.error, 1e-5) << one.times.primitive;
    EXPECT_GE(one.times.tried, 1);
  }
  EXPECT_GE(ran, 3);
}

TEST_F(StepBenchTest, TooLittleMemoryIsAnError) {
  const auto all = run({}, 1 << 16);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::over_budget);
  EXPECT_THAT(all.error().message, HasSubstr("--mem is 64.00 KiB"));
}

TEST_F(StepBenchTest, AWrongGradientIsAnError) {
  GradientPrimitive wrong = direct();
  wrong.name = "test.wrong";
  wrong.prepare = prepare_wrong;
  const std::array<const GradientPrimitive*, 1> gradients = {&wrong};
  const StepParts parts = {*catalogue_, gradients, device_->spec()};
  const auto all = run_step(problem, parts, plenty, {}, {device_.get(), 1, {}, {}});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::internal);
  EXPECT_THAT(all.error().message, HasSubstr("gradient of the weights: test.wrong"));
}

TEST_F(StepBenchTest, AStopEndsIt) {
  stop_.request_stop();
  const auto all = run({});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace znni::bench
