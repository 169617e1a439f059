#include "planner/search/rung_plan.hpp"

#include <gtest/gtest.h>

#include "planner/search/candidates.hpp"
#include "tests/planner/drawn_search.hpp"

namespace znni {
namespace {

class PlannerRungPlan : public test::DrawnSearch {
 protected:
  FoundRung find() {
    RungQuery query;
    query.total = options_.memory_limit - weight_bytes(network_);
    return searcher().best(make_candidates(network_, options_), query).value();
  }
};

TEST_F(PlannerRungPlan, IsWhatASearchWithoutALadderFinds) {
  const Plan plan = rung_plan(network_, spec_, catalogue_, options_, find());
  EXPECT_EQ(plan, best());
  EXPECT_EQ(plan.memory, plan.ladder.front().memory);
  EXPECT_EQ(plan.key.memory_limit, options_.memory_limit);
}

TEST_F(PlannerRungPlan, NamesItsVolumeAndTheRateInAnEndlessOne) {
  const FoundRung found = find();
  EXPECT_EQ(rung_plan(network_, spec_, catalogue_, options_, found).predicted.endless_voxels_per_second, 0);
  options_.volume = found.geometry.patch_input + Vec3{0, 0, 1};
  const Plan plan = best();
  EXPECT_EQ(plan.key.volume, options_.volume);
  const Rung& rung = plan.ladder.front();
  const auto written = static_cast<double>(written_voxels(make_geometry(network_, rung.geometry).value()));
  EXPECT_DOUBLE_EQ(plan.predicted.endless_voxels_per_second, written / rung.seconds);
  EXPECT_GE(endless_rate(plan.predicted), plan.predicted.voxels_per_second);
}

TEST_F(PlannerRungPlan, RungsShareAnArenaAndKeepTheirOwnCopies) {
  const FoundRung found = find();
  Plan plan = rung_plan(network_, spec_, catalogue_, options_, found);
  Rung smaller = found.rung;
  smaller.memory = {found.rung.memory.weights, 640, found.rung.memory.transient / 2};
  append(plan, smaller);
  EXPECT_EQ(plan.ladder.size(), 2U);
  EXPECT_EQ(plan.memory.weights, found.rung.memory.weights);
  EXPECT_EQ(plan.memory.persistent, found.rung.memory.persistent + 640);
  EXPECT_EQ(plan.memory.transient, found.rung.memory.transient);
}

}  // namespace
}  // namespace znni
