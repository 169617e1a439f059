#include "planner/search/candidate_verdict.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

using Kind = CandidateVerdict::Kind;

TEST(PlannerCandidateVerdict, NothingIsSaidOfWhatIsIn) {
  EXPECT_TRUE(CandidateVerdict().is_in());
  EXPECT_EQ(CandidateVerdict().text(), "");
  EXPECT_FALSE(CandidateVerdict(Kind::larger).is_in());
}

// The largest tensor, all that is kept, and kernels where axes are swapped.
TEST(PlannerCandidateVerdict, TensorsAloneTakeSomething) {
  const Network network = drawn::chain(3);
  for (const int axis : {0, 1}) {
    const GeometryChoice choice{{8, 8, 10}, 1, {PoolMode::fragments}, 0, true, axis};
    const Geometry geometry = make_geometry(network, choice).value();
    const GeometryOptions all = tensors_of(geometry, 72);
    std::int64_t most = 0;
    std::int64_t kept = 0;
    for (int value = 0; value < 4; ++value) {
      most = std::max(most, value_bytes(geometry, value, {}));
      kept += round_up(history_bytes(geometry, value, {}), buffer_alignment);
    }
    EXPECT_EQ(all.min_transient, most);
    EXPECT_EQ(all.min_histories, kept);
    EXPECT_EQ(all.min_persistent, axis == 0 ? 0 : 72);
    const GeometryOptions without = tensors_of(geometry, 72, {0, 1, 2});
    EXPECT_EQ(without.min_transient, value_bytes(geometry, 3, {}));
    EXPECT_EQ(without.min_histories, round_up(history_bytes(geometry, 3, {}), buffer_alignment));
  }
}

TEST(PlannerCandidateVerdict, SaysWhy) {
  EXPECT_EQ(CandidateVerdict(Kind::illegal, "it is odd").text(), "it is odd");
  EXPECT_EQ(CandidateVerdict(Kind::larger).text(), "larger than this rung");
  EXPECT_EQ(CandidateVerdict::slower(12345.6).text(), "slower: less than 1.235e+04 voxels/s");
  EXPECT_EQ(CandidateVerdict(Kind::unpacked).text(), "does not pack");
}

TEST(PlannerCandidateVerdict, BytesBreakEachLimitByItself) {
  GeometryOptions options;
  options.min_transient = 600;
  options.min_histories = 400;
  options.min_persistent = 24;
  const ChoiceLimits fits{1024, 24, 1000};
  EXPECT_TRUE(CandidateVerdict::of_bytes(options, fits).is_in());
  for (std::int64_t ChoiceLimits::*limit :
       {&ChoiceLimits::total, &ChoiceLimits::persistent, &ChoiceLimits::transient}) {
    ChoiceLimits tight = fits;
    tight.*limit -= 1;
    const CandidateVerdict verdict = CandidateVerdict::of_bytes(options, tight);
    EXPECT_EQ(verdict.kind, Kind::memory);
    EXPECT_EQ(verdict.bytes, 1024);
    EXPECT_EQ(verdict.left, 1023);
  }
  const CandidateVerdict verdict = CandidateVerdict::of_bytes(options, {1000, saturated, saturated});
  EXPECT_EQ(verdict.text(), "needs at least 1.00 KiB beside the weights, 1000 B are left");
}

}  // namespace
}  // namespace znni
