#include "planner/search/geometry_search.hpp"

#include <gtest/gtest.h>

#include "planner/search/candidates.hpp"
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

TEST_F(PlannerGeometrySearch, FindsTheBestThatReachesTheFloorAlone) {
  GeometrySearch searcher = this->searcher();
  RungQuery query;
  query.total = 60000;
  const std::optional<FoundRung> free = searcher.best(candidates_, query);
  ASSERT_TRUE(free);
  query.floor = free->voxels_per_second;
  const std::optional<FoundRung> same = searcher.best(candidates_, query);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->rung, free->rung);
  query.floor *= 1.01;
  EXPECT_FALSE(searcher.best(candidates_, query));
}

TEST_F(PlannerGeometrySearch, ALogShowsTheFewerTheNearerToTheBestTheyMustBe) {
  RungQuery query;
  query.total = 60000;
  std::vector<std::ptrdiff_t> shown;
  std::vector<Rung> best;
  for (const double share : {0.0, 0.8, 1.0}) {
    options_.logged_share = share;
    std::vector<Candidate> log;
    best.push_back(searcher().best(candidates_, query, &log).value().rung);
    shown.push_back(std::count_if(log.begin(), log.end(), [](const Candidate& one) { return one.refused.empty(); }));
  }
  EXPECT_GT(shown[0], shown[1]);
  EXPECT_GT(shown[1], shown[2]);
  EXPECT_GE(shown[2], 1);
  EXPECT_EQ(best[0], best[1]);
  EXPECT_EQ(best[0], best[2]);
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

// Candidates are weighed against those that rounds before found, and rounds are the same for any number of threads.
TEST_F(PlannerGeometrySearch, AnyNumberOfThreadsFindsTheSame) {
  ASSERT_GT(candidates_.size(), 500U);
  for (const std::int64_t limit : {std::int64_t{20000}, std::int64_t{60000}, saturated}) {
    RungQuery query;
    query.total = limit;
    options_.threads = 1;
    std::vector<Candidate> alone;
    const std::optional<FoundRung> wanted = searcher().best(candidates_, query, &alone);
    for (const int threads : {2, 5}) {
      SCOPED_TRACE(std::to_string(threads) + " threads, limit " + std::to_string(limit));
      options_.threads = threads;
      std::vector<Candidate> log;
      const std::optional<FoundRung> found = searcher().best(candidates_, query, &log);
      ASSERT_EQ(found.has_value(), wanted.has_value());
      if (found) {
        EXPECT_EQ(found->rung, wanted->rung);
      }
      ASSERT_EQ(log.size(), alone.size());
      for (std::size_t i = 0; i < log.size(); ++i) {
        EXPECT_EQ(log[i].choice, alone[i].choice);
        EXPECT_EQ(log[i].refused, alone[i].refused);
        EXPECT_EQ(log[i].voxels_per_second, alone[i].voxels_per_second);
      }
    }
  }
}

// Describes ways that take twice as long for twice the work, to the last bit.
Result<std::vector<Estimate>> describe_fairly(const LayerProblem& problem, const DeviceSpec&) {
  return std::vector<Estimate>{{{}, {}, {}, direct_flops(problem) * 0x1p-30, input_output_buffers(problem, {}, {})}};
}
constexpr Primitive fair = {"fair.any", 1, DeviceKind::cpu, describe_fairly, drawn::never_prepared};

// One patch, or two or four together, are as fast as each other; the order of looking is another than that of
// candidates.
TEST_F(PlannerGeometrySearch, OfEqualsTheFirstCandidateWins) {
  static constexpr std::array<const Primitive*, 1> primitives = {&fair};
  static constexpr Backend backend = {"fair", drawn::probe, drawn::open, primitives};
  catalogue_ = Catalogue::make(std::array<const Backend*, 1>{&backend}).value();
  GeometryChoice choice{Vec3::cube(8), 1, {PoolMode::fragments}};
  ASSERT_TRUE(make_geometry(network_, choice));
  const std::vector<std::array<std::size_t, 3>> places = {{0, 5, 61}, {61, 5, 70}, {99, 98, 61}, {122, 61, 0}};
  for (const auto& [four, two, one] : places) {
    std::vector<GeometryChoice> candidates(130, GeometryChoice{Vec3::cube(1), 1, {PoolMode::fragments}});
    for (const auto& [place, S] : {std::pair{four, 4}, std::pair{two, 2}, std::pair{one, 1}}) {
      candidates[place] = choice;
      candidates[place].S = S;
    }
    const std::optional<FoundRung> best = searcher().best(candidates, {});
    ASSERT_TRUE(best);
    EXPECT_EQ(best->rung.geometry, candidates[std::min({four, two, one})]);
    // What was there before stays, unless something is faster.
    FoundRung given = *best;
    given.rung.seconds = 7;
    EXPECT_EQ(searcher().best(candidates, {}, nullptr, given)->rung.seconds, 7);
  }
}

TEST_F(PlannerGeometrySearch, SmallestOutputIsThatOfAGeometry) {
  Vec3 smallest = Vec3::cube(1000);
  for (const GeometryChoice& choice : candidates_) {
    const Vec3 output = make_geometry(network_, choice)->patch_output;
    if (voxels(output) < voxels(smallest)) smallest = output;
  }
  EXPECT_EQ(searcher().smallest_output(candidates_), smallest);
}

TEST_F(PlannerGeometrySearch, LeastBytesIsALimitThatJustHolds) {
  GeometrySearch searcher = this->searcher();
  const std::optional<std::int64_t> least = searcher.min_bytes(candidates_);
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
  EXPECT_FALSE(searcher.min_bytes(candidates_));
  EXPECT_EQ(searcher.last_refusal(), "node relu2: drawn.conv.a: not a convolution");
}

}  // namespace
}  // namespace znni
