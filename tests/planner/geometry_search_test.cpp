#include "planner/geometry_search.hpp"

#include <gtest/gtest.h>

#include "planner/candidates.hpp"
#include "planner/schedule.hpp"
#include "tests/planner/drawn_search.hpp"

namespace znni {
namespace {

class PlannerGeometrySearch : public test::DrawnSearch {
 protected:
  std::vector<GeometryChoice> candidates_ = make_candidates(network_, options_);
};

TEST_F(PlannerGeometrySearch, KeepsEveryLimitOfTheQuery) {
  GeometrySearch searcher = this->searcher();
  const std::optional<FoundRung> free = searcher.best(candidates_, {});
  ASSERT_TRUE(free);
  RungQuery query;
  query.transient = free->rung.memory.transient / 2;
  const std::optional<FoundRung> half = searcher.best(candidates_, query);
  ASSERT_TRUE(half);
  EXPECT_LE(half->rung.memory.transient, query.transient);
  EXPECT_LE(half->voxels_per_second, free->voxels_per_second);
  query = {};
  query.persistent = free->rung.memory.persistent / 3;
  const std::optional<FoundRung> lean = searcher.best(candidates_, query);
  ASSERT_TRUE(lean);
  EXPECT_LE(lean->rung.memory.persistent, query.persistent);
  query = {};
  query.largest_output = Vec3{2, 4, 100};
  const std::optional<FoundRung> flat = searcher.best(candidates_, query);
  ASSERT_TRUE(flat);
  EXPECT_TRUE(covers(*query.largest_output, flat->geometry.patch_output));
}

TEST_F(PlannerGeometrySearch, BytesAreThoseOfTheSchedule) {
  const std::optional<FoundRung> found = searcher().best(candidates_, {});
  ASSERT_TRUE(found);
  const Result<Schedule> schedule =
      make_schedule(network_, found->geometry, found->rung.segments.front().steps, catalogue_, spec_);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(found->rung.memory.transient, pack(schedule->memory).bytes);
  EXPECT_EQ(found->rung.memory.persistent, persistent_bytes(schedule->memory));
  EXPECT_EQ(found->rung.memory.weights, weight_bytes(network_));
}

TEST_F(PlannerGeometrySearch, LogGivesAReasonOrASpeedForEveryCandidate) {
  std::vector<Candidate> log;
  RungQuery query;
  query.total = 60000;
  ASSERT_TRUE(searcher().best(candidates_, query, &log));
  ASSERT_EQ(log.size(), candidates_.size());
  std::size_t slow = 0;
  std::size_t large = 0;
  for (std::size_t i = 0; i < log.size(); ++i) {
    EXPECT_EQ(log[i].choice, candidates_[i]);
    EXPECT_NE(log[i].refused.empty(), log[i].voxels_per_second == 0);
    slow += log[i].refused.starts_with("slower") ? 1 : 0;
    large += log[i].refused.starts_with("needs at least") ? 1 : 0;
  }
  EXPECT_GT(slow, 0U);
  EXPECT_GT(large, 0U);
}

TEST_F(PlannerGeometrySearch, LeastBytesIsALimitThatJustHolds) {
  GeometrySearch searcher = this->searcher();
  const std::optional<std::int64_t> least = searcher.least_bytes(candidates_);
  ASSERT_TRUE(least);
  RungQuery query;
  query.total = *least;
  EXPECT_TRUE(searcher.best(candidates_, query));
  query.total = *least - 1;
  EXPECT_FALSE(searcher.best(candidates_, query));
}

TEST_F(PlannerGeometrySearch, RefusalsNameTheNode) {
  std::vector<const Primitive*> forced(network_.nodes.size(), nullptr);
  forced[3] = &drawn::conv;
  GeometrySearch searcher(network_, spec_, catalogue_, *costs_, options_, forced);
  EXPECT_FALSE(searcher.best(candidates_, {}));
  EXPECT_FALSE(searcher.least_bytes(candidates_));
  EXPECT_EQ(searcher.last_refusal(), "node relu2: drawn.conv.a: not a convolution");
}

}  // namespace
}  // namespace znni
