#include "planner/split/split_session.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/planner/recorded_machine.hpp"

namespace znni {
namespace {

using test::gibibyte;

class PlannerSplitSession : public testing::Test {
 protected:
  PlannerSplitSession() {
    options_.max_extent = 16;
    options_.max_S = 2;
  }
  SplitSession session(SplitStrategy strategy) {
    return {network_, catalogue_, *costs_, places_.specs, strategy, options_};
  }
  Result<SplitPlan> alone(SplitStrategy strategy, std::int64_t limit, const SpaceBytes& memory) {
    MachinePlaces places = places_;
    places.memory = memory;
    SearchOptions options = options_;
    options.memory_limit = limit;
    return plan_split(network_, catalogue_, *costs_, places, strategy, options);
  }
  void expect_equal(SplitSession& searches, SplitStrategy strategy, std::int64_t limit, const SpaceBytes& memory) {
    SCOPED_TRACE(std::string(to_string(strategy)) + " in " + std::to_string(limit) + ", " + to_string(memory));
    const Result<SplitPlan> first = searches.first_within(limit, memory);
    const Result<SplitPlan> shared = searches.within(limit, memory);
    const Result<SplitPlan> own = alone(strategy, limit, memory);
    ASSERT_EQ(shared.has_value(), own.has_value());
    ASSERT_EQ(first.has_value(), own.has_value());
    if (!own) {
      EXPECT_EQ(shared.error().code, own.error().code);
      return;
    }
    ++plans_;
    EXPECT_EQ(shared->plan, own->plan);
    EXPECT_EQ(shared->bytes, own->bytes);
    EXPECT_EQ(shared->theta, own->theta);
    EXPECT_EQ(first->plan.predicted, own->plan.predicted);
    ASSERT_EQ(first->plan.ladder.size(), 1U);
    EXPECT_EQ(first->plan.ladder.front(), own->plan.ladder.front());
  }

  Network network_ = drawn::chain(3);
  RecordedPrimitives recorded_ =
      RecordedPrimitives::make(test::recorded_rows(network_), test::recorded_machine(), {}).value();
  std::array<const Backend*, 1> backends_ = {&recorded_.backend()};
  Catalogue catalogue_ = Catalogue::make(backends_).value();
  std::unique_ptr<CostSource> costs_ = recorded_.costs(modelled_costs());
  MachinePlaces places_ = places_of(test::recorded_machine()).value();
  SearchOptions options_;
  int plans_ = 0;
};

TEST_F(PlannerSplitSession, FindsWhatASearchFindsWithinEachLimit) {
  for (const SplitStrategy strategy : {SplitStrategy::gpu, SplitStrategy::gpu_host_ram, SplitStrategy::cpu_gpu}) {
    SplitSession searches = session(strategy);
    for (std::int64_t limit = 1 << 14; limit <= gibibyte; limit *= 16) {
      expect_equal(searches, strategy, limit, places_.memory);
    }
  }
  EXPECT_GT(plans_, 6);
}

// Less memory after more knows of nothing that fits.
TEST_F(PlannerSplitSession, TakesLimitsInAnyOrder) {
  options_.volume = Vec3{9, 70, 30};
  SplitSession searches = session(SplitStrategy::cpu_gpu);
  for (const int shift : {21, 13, 17, 30, 13, 4}) {
    SpaceBytes memory = places_.memory;
    memory.device = std::int64_t{1} << shift;
    expect_equal(searches, SplitStrategy::cpu_gpu, gibibyte, memory);
    expect_equal(searches, SplitStrategy::cpu_gpu, std::int64_t{1} << shift, places_.memory);
  }
  EXPECT_GT(plans_, 6);
}

TEST_F(PlannerSplitSession, AStoppedSearchHasWhatFittedIntoLess) {
  bool stopped = false;
  options_.stop = [&] { return stopped; };
  SplitSession searches = session(SplitStrategy::cpu_gpu);
  const Result<SplitPlan> less = searches.first_within(gibibyte / 16, places_.memory);
  ASSERT_TRUE(less) << less.error().message;
  stopped = true;
  const Result<SplitPlan> more = searches.first_within(gibibyte, places_.memory);
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(more->plan.ladder, less->plan.ladder);
  SplitSession none = session(SplitStrategy::cpu_gpu);
  EXPECT_EQ(none.first_within(gibibyte, places_.memory).error().code, ErrorCode::cancelled);
}

TEST_F(PlannerSplitSession, SaysWhatASearchSays) {
  SplitSession searches = session(SplitStrategy::gpu);
  const auto message = [&](std::int64_t limit) { return searches.within(limit, places_.memory).error().message; };
  EXPECT_EQ(message(0), alone(SplitStrategy::gpu, 0, places_.memory).error().message);
  options_.pins.theta = "nothing";
  SplitSession pinned = session(SplitStrategy::gpu);
  EXPECT_NE(pinned.within(gibibyte, places_.memory).error().message.find("--theta nothing"), std::string::npos);
}

TEST_F(PlannerSplitSession, AnEighthIsLeftForTheCpu) {
  EXPECT_EQ(split_budget({0, 500, 7}, 900, 100), (SpaceBytes{700, 500, 7}));
  EXPECT_EQ(split_budget({0, 0, 7}, 900, 100), (SpaceBytes{700, 700, 7}));
  EXPECT_EQ(split_budget({0, 500, 7}, 50, 100), (SpaceBytes{0, 0, 7}));
}

}  // namespace
}  // namespace znni
