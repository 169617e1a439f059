#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive upsample_aligned;

namespace {

using enum Layout;

TEST(UpsampleAligned, MatchesTheOracleOnRandomProblems) {
  test::check_random(upsample_aligned, 40, [](test::Random& random) { return test::random_aligned_upsample(random); });
}

// Long rows are blended in parts, and of one voxel all are copies.
TEST(UpsampleAligned, MatchesTheOracleForEveryFactorAndRowLength) {
  const std::unique_ptr<Device> device = test::open_cpu();
  for (const std::int64_t factor : {1, 2, 3, 4, 5}) {
    for (const std::int64_t x : {1, 2, 3, 9, 64, 150, 1100, 2049}) {
      const UpsampleProblem problem{{1, 3, {1, 2, x}}, {1, 2, factor}, UpsampleKind::aligned};
      test::check_primitive(upsample_aligned, problem, *device, static_cast<std::uint64_t>(x));
    }
  }
}

TEST(UpsampleAligned, MatchesTheOracleWithManyWorkers) {
  const std::unique_ptr<Device> device = test::open_cpu(9);
  for (const Shape5& shape : {Shape5{1, 1, {3, 3, 5}}, Shape5{3, 20, {5, 4, 5}}}) {
    test::check_primitive(upsample_aligned, UpsampleProblem{shape, {2, 3, 2}, UpsampleKind::aligned}, *device, 1);
  }
}

TEST(UpsampleAligned, ReadsAndWritesBothLayouts) {
  const UpsampleProblem problem{{1, 5, {4, 4, 4}}, {1, 2, 3}, UpsampleKind::aligned};
  EXPECT_EQ(test::offered_layouts(upsample_aligned, problem, 16), (std::vector{planar, blocked16}));
  EXPECT_EQ(test::offered_layouts(upsample_aligned, problem, 8), (std::vector{planar, blocked8}));
}

TEST(UpsampleAligned, RefusesWhatIsNotAligned) {
  const std::string_view reason = "cpu.upsample.aligned computes upsamplings with aligned corners";
  test::expect_refusal(upsample_aligned, AddProblem{{1, 2, {3, 3, 3}}, 2, {}}, reason);
  test::expect_refusal(upsample_aligned, UpsampleProblem{{1, 2, {3, 3, 3}}, {2, 2, 2}, UpsampleKind::linear}, reason);
}

}  // namespace
}  // namespace znni::cpu
