#include "planner/search/search_session.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/planner/brute_force.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

// Counts what it is asked.
class CountedCosts final : public CostSource {
 public:
  Cost cost(const LayerProblem& problem, const Primitive& primitive, const Estimate& estimate) override {
    ++asked;
    return own_->cost(problem, primitive, estimate);
  }
  [[nodiscard]] bool has_times_of(const Primitive& primitive) const override { return own_->has_times_of(primitive); }

  int asked = 0;

 private:
  std::unique_ptr<CostSource> own_ = modelled_costs();
};

class PlannerSearchSession : public testing::Test {
 protected:
  PlannerSearchSession() {
    options_.max_S = 2;
    options_.max_extent = 8;
    options_.stem_slab = 1;
  }
  SearchSession session(const Network& network) { return {network, spec_, catalogue_, costs_, options_}; }
  Result<Plan> alone(const Network& network, std::int64_t limit) {
    SearchOptions options = options_;
    options.memory_limit = limit;
    return search(network, spec_, catalogue_, costs_, options);
  }
  void expect_equal(SearchSession& searches, const Network& network, std::int64_t limit) {
    SCOPED_TRACE(network.name + ", limit " + std::to_string(limit));
    const Result<Plan> shared = searches.within(limit);
    const Result<Plan> own = alone(network, limit);
    ASSERT_EQ(shared.has_value(), own.has_value());
    if (own) {
      EXPECT_EQ(*shared, *own);
      ++plans_;
    } else {
      EXPECT_EQ(shared.error().code, own.error().code);
      EXPECT_EQ(shared.error().message, own.error().message);
    }
  }

  DeviceSpec spec_ = test::drawn_device();
  Catalogue catalogue_ = drawn::catalogue();
  CountedCosts costs_;
  SearchOptions options_;
  int plans_ = 0;
};

const std::vector<std::int64_t> limits = {0, 900, 2000, 4500, 9000, 9001, 14000, 25000, 60000, 1000000};

TEST_F(PlannerSearchSession, FindsWhatASearchFindsWithinEachLimit) {
  for (const Network& network : {drawn::chain(3), drawn::branches(), drawn::residuals()}) {
    for (const std::optional<Vec3>& volume : {std::optional<Vec3>(), std::optional(Vec3::cube(8))}) {
      options_.volume = volume;
      SearchSession searches = session(network);
      for (const std::int64_t limit : limits) expect_equal(searches, network, limit);
    }
  }
  EXPECT_GT(plans_, 30);
}

// A smaller limit after a larger one knows of nothing that fits.
TEST_F(PlannerSearchSession, TakesLimitsInAnyOrder) {
  const Network network = drawn::chain(3);
  SearchSession searches = session(network);
  for (const std::int64_t limit : {25000, 2000, 1000000, 2000, 9000, 60000}) expect_equal(searches, network, limit);
  EXPECT_GE(plans_, 4);
}

TEST_F(PlannerSearchSession, AsksForNoCostTwice) {
  const Network network = drawn::chain(3);
  SearchSession searches = session(network);
  ASSERT_TRUE(searches.within(25000));
  const int once = costs_.asked;
  EXPECT_GT(once, 0);
  ASSERT_TRUE(searches.within(25000));
  EXPECT_EQ(costs_.asked, once);
}

TEST_F(PlannerSearchSession, LogsTheSameRates) {
  const Network network = drawn::chain(3);
  SearchSession searches = session(network);
  SearchLog own;
  SearchOptions options = options_;
  options.memory_limit = 60000;
  ASSERT_TRUE(search(network, spec_, catalogue_, costs_, options, &own));
  ASSERT_TRUE(searches.within(25000));
  SearchLog shared;
  ASSERT_TRUE(searches.within(60000, &shared));
  ASSERT_EQ(shared.candidates.size(), own.candidates.size());
  for (std::size_t i = 0; i < own.candidates.size(); ++i) {
    EXPECT_EQ(shared.candidates[i].choice, own.candidates[i].choice);
    EXPECT_EQ(shared.candidates[i].voxels_per_second, own.candidates[i].voxels_per_second);
  }
}

TEST_F(PlannerSearchSession, SaysWhyNothingCanBeSearched) {
  const Network network = drawn::chain(3);
  options_.volume = Vec3::cube(1);
  SearchSession searches = session(network);
  const Result<Plan> refused = searches.within(25000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

TEST_F(PlannerSearchSession, StaysStopped) {
  const Network network = drawn::chain(3);
  options_.stop = [] { return true; };
  SearchSession searches = session(network);
  for (int i = 0; i < 2; ++i) {
    const Result<Plan> stopped = searches.within(25000);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
  }
}

}  // namespace
}  // namespace znni
