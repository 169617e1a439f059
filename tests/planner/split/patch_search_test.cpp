#include "planner/split/patch_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "planner/layers/places.hpp"
#include "planner/search/candidates.hpp"
#include "tests/planner/recorded_machine.hpp"

namespace znni {
namespace {

using test::gibibyte;

class PlannerPatchSearch : public testing::Test {
 protected:
  PlannerPatchSearch() {
    options_.max_extent = 24;
    options_.max_S = 2;
    options_.stem_slab = 0;
    for (const GeometryChoice& choice : make_candidates(network_, options_)) {
      const auto holds = [](const PoolingMode& mode) { return mode.holds(); };
      if (std::none_of(choice.modes.begin(), choice.modes.end(), holds)) candidates_.push_back(choice);
    }
  }
  std::optional<WeighedRung> best(const PatchQuery& query, SearchLog* log = nullptr) {
    PatchSearch search(network_, catalogue_, *costs_, places_.specs, {}, options_);
    return search.best(candidates_, query, log);
  }

  Network network_ = drawn::chain(3);
  RecordedPrimitives recorded_ =
      RecordedPrimitives::make(test::recorded_rows(network_), test::recorded_machine(), {}).value();
  std::array<const Backend*, 1> backends_ = {&recorded_.backend()};
  Catalogue catalogue_ = Catalogue::make(backends_).value();
  std::unique_ptr<CostSource> costs_ = recorded_.costs(modelled_costs());
  MachinePlaces places_ = places_of(test::recorded_machine()).value();
  SearchOptions options_;
  std::vector<GeometryChoice> candidates_;
};

constexpr SpaceBytes plenty = {gibibyte, gibibyte, gibibyte};

TEST_F(PlannerPatchSearch, NothingBelowTheFloorIsFound) {
  const std::optional<WeighedRung> free = best({plenty, {}});
  ASSERT_TRUE(free);
  const double rate = free->voxels_per_second;
  const std::optional<WeighedRung> above = best({plenty, {}, 0.999 * rate});
  ASSERT_TRUE(above);
  EXPECT_EQ(above->choice.rung, free->choice.rung);
  EXPECT_FALSE(best({plenty, {}, 1.001 * rate}));
}

TEST_F(PlannerPatchSearch, KeepsWhatItIsGivenUnlessAFasterOneIsFound) {
  PatchSearch search(network_, catalogue_, *costs_, places_.specs, {}, options_);
  std::optional<WeighedRung> given = search.best(candidates_, {plenty, {}});
  ASSERT_TRUE(given);
  given->voxels_per_second *= 2;
  EXPECT_EQ(search.best(candidates_, {plenty, {}}, nullptr, given)->voxels_per_second, given->voxels_per_second);
  given->voxels_per_second /= 4;
  EXPECT_EQ(search.best(candidates_, {plenty, {}}, nullptr, given)->voxels_per_second, 2 * given->voxels_per_second);
}

// Each look at a patch asks several times whether to stop.
TEST_F(PlannerPatchSearch, LooksOnceAtPatchesThatNoMemoryMakesFaster) {
  std::ptrdiff_t asked = 0;
  options_.stop = [&] {
    ++asked;
    return false;
  };
  PatchSearch search(network_, catalogue_, *costs_, places_.specs, {}, options_);
  const std::optional<WeighedRung> found = search.best(candidates_, {plenty, {}});
  ASSERT_TRUE(found);
  EXPECT_GT(asked, 4 * std::ssize(candidates_));
  asked = 0;
  const SpaceBytes more = {2 * plenty.host, 2 * plenty.pinned, 2 * plenty.device};
  EXPECT_FALSE(search.best(candidates_, {more, {}, found->voxels_per_second}));
  EXPECT_LE(asked, 3 * std::ssize(candidates_)) << "once for each patch of both searches, and few again";
}

TEST_F(PlannerPatchSearch, SaysWhyNothingFits) {
  PatchSearch search(network_, catalogue_, *costs_, places_.specs, {}, options_);
  EXPECT_FALSE(search.best(candidates_, {{1, 1, 1}, {}}));
  EXPECT_EQ(search.reason().code, ErrorCode::over_budget);
  search.begin();
  EXPECT_EQ(search.reason().message, "no legal patch");
}

// The log has each candidate once, however often it is looked at.
TEST_F(PlannerPatchSearch, TellsOfEachPatchOnce) {
  SearchLog log;
  ASSERT_TRUE(best({plenty, {}}, &log));
  EXPECT_EQ(log.candidates.size(), candidates_.size());
}

// Many patches are looked at with layers through host RAM where that is asked for. Too little of the GPU's memory for
// anything else leaves those alone.
TEST_F(PlannerPatchSearch, LooksAtAsManyThroughHostRamAsAreAskedFor) {
  ASSERT_GT(candidates_.size(), 300U);
  std::size_t before = 0;
  for (const std::int64_t most : {1, 64, 100'000}) {
    options_.max_through_host_ram = most;
    options_.logged_share = 0;  // nothing is cut
    PatchSearch search(network_, catalogue_, *costs_, places_.specs, {false, true, {}}, options_);
    SearchLog log;
    static_cast<void>(search.best(candidates_, {{gibibyte, gibibyte, 1 << 12}, {}}, &log));
    const auto found = static_cast<std::size_t>(std::count_if(
        log.candidates.begin(), log.candidates.end(), [](const Candidate& each) { return each.refused.empty(); }));
    EXPECT_GE(found, before) << most;
    before = found;
  }
  EXPECT_GT(before, 0U);
}

}  // namespace
}  // namespace znni
