#include "planner/search/found_rung.hpp"

#include <gtest/gtest.h>

#include "planner/layers/schedule.hpp"
#include "planner/search/candidates.hpp"
#include "tests/planner/drawn_search.hpp"

namespace znni {
namespace {

class PlannerFoundRung : public test::DrawnSearch {};

TEST_F(PlannerFoundRung, BytesAreThoseOfTheSchedule) {
  GeometrySearch searcher = this->searcher();
  const std::optional<FoundRung> found = searcher.best(make_candidates(network_, options_), {});
  ASSERT_TRUE(found);
  const Result<Schedule> schedule =
      make_schedule(network_, found->geometry, found->rung.segments.front().steps, catalogue_, spec_);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(found->rung.memory.transient, pack(schedule->memory).bytes);
  EXPECT_EQ(found->rung.memory.persistent, persistent_bytes(schedule->memory));
  EXPECT_EQ(found->rung.memory.weights, weight_bytes(network_));
  EXPECT_FALSE(found->geometry.passes.empty());
}

TEST_F(PlannerFoundRung, OfEqualsTheFirstCandidateLeads) {
  const auto rung = [](double rate) { return FoundRung{{}, {}, rate}; };
  LeadingRung leader;
  EXPECT_EQ(leader.voxels_per_second(), 0);
  leader.offer(rung(2), 7);
  leader.offer(rung(1), 0);
  EXPECT_EQ(leader.candidate, 7U);
  leader.offer(rung(2), 9);
  EXPECT_EQ(leader.candidate, 7U);
  leader.offer(rung(2), 3);
  EXPECT_EQ(leader.candidate, 3U);
  LeadingRung was_there{rung(2), {}};
  was_there.offer(rung(2), 0);
  EXPECT_FALSE(was_there.candidate);
  was_there.offer(rung(3), 5);
  EXPECT_EQ(was_there.candidate, 5U);
  EXPECT_EQ(was_there.voxels_per_second(), 3);
}

// Formats change on the way in, and behind a node: a step says both, and what the two take together.
TEST_F(PlannerFoundRung, StepsNameTheReorders) {
  const Result<Geometry> geometry = make_geometry(network_, {Vec3::cube(8), 1, {PoolMode::fragments}});
  ASSERT_TRUE(geometry) << geometry.error().message;
  OptionTable table(catalogue_, spec_, *costs_);
  const NetworkUse use = network_use(network_, *geometry);
  GeometryOptions options;
  for (std::size_t node = 0; node < network_.nodes.size(); ++node) {
    options.nodes.push_back(&table.get(geometry->problems[node], use.uses[node]));
  }
  int reordered = 0;
  for (const Assignment& assignment : combine(use, *geometry, options, table, {})) {
    const FoundRung found = found_rung(network_, *geometry, assignment, catalogue_, spec_);
    const std::vector<Step>& steps = found.rung.segments.front().steps;
    const std::size_t first = assignment.input_reorder == nullptr ? 0 : 1;
    ASSERT_EQ(steps.size(), network_.nodes.size() + first);
    Seconds sum = 0;
    for (const Step& step : steps) {
      EXPECT_EQ(step.reorder.empty(), step.native == step.out);
      reordered += step.reorder.empty() ? 0 : 1;
      sum += static_cast<double>(runs_of(*geometry, step.node)) * step.seconds;
    }
    EXPECT_NEAR(sum, assignment.seconds, 1e-12);
  }
  EXPECT_GT(reordered, 0);
}

}  // namespace
}  // namespace znni
