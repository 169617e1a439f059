#include "planner/candidate_verdict.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

using Kind = CandidateVerdict::Kind;

TEST(PlannerCandidateVerdict, NothingIsSaidOfWhatIsIn) {
  EXPECT_TRUE(CandidateVerdict().is_in());
  EXPECT_EQ(CandidateVerdict().text(), "");
  EXPECT_FALSE(CandidateVerdict(Kind::larger).is_in());
}

TEST(PlannerCandidateVerdict, SaysWhy) {
  EXPECT_EQ(CandidateVerdict(Kind::illegal, "it is odd").text(), "it is odd");
  EXPECT_EQ(CandidateVerdict(Kind::larger).text(), "larger than this rung");
  EXPECT_EQ(CandidateVerdict::slower(12345.6).text(), "slower: less than 1.235e+04 voxels/s");
  EXPECT_EQ(CandidateVerdict(Kind::unpacked).text(), "does not pack");
}

TEST(PlannerCandidateVerdict, BytesBreakEachLimitByItself) {
  GeometryOptions options;
  options.least_transient = 600;
  options.least_histories = 400;
  options.least_persistent = 24;
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
