#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive upsample_linear;

namespace {

using enum Layout;

TEST(UpsampleLinear, MatchesTheOracleOnRandomProblems) {
  test::check_random(upsample_linear, 40, [](test::Random& random) { return test::random_linear_upsample(random); });
}

// Rows of every factor are spread differently, vectors leave a rest, and long rows are blended in parts.
TEST(UpsampleLinear, MatchesTheOracleForEveryFactorAndRowLength) {
  const std::unique_ptr<Device> device = test::open_cpu();
  for (const std::int64_t factor : {1, 2, 3, 4, 5}) {
    for (const std::int64_t x : {3, 9, 16, 33, 150, 1100}) {
      const UpsampleProblem problem{{1, 3, {1, 3, x}}, {1, 2, factor}, UpsampleKind::linear};
      test::check_primitive(upsample_linear, problem, *device, static_cast<std::uint64_t>(x));
    }
  }
}

// Fewer tasks than workers, and several inputs whose planes are not made in order.
TEST(UpsampleLinear, MatchesTheOracleWithManyWorkers) {
  const std::unique_ptr<Device> device = test::open_cpu(9);
  for (const Shape5& shape : {Shape5{1, 1, {3, 3, 5}}, Shape5{3, 20, {5, 4, 5}}}) {
    test::check_primitive(upsample_linear, UpsampleProblem{shape, {2, 3, 2}, UpsampleKind::linear}, *device, 1);
  }
}

// A patch ends elsewhere than another, and vectors with it; the voxels that both have are the same to the last bit.
TEST(UpsampleLinear, EveryVoxelIsTheSameInEveryWindow) {
  const std::unique_ptr<Device> device = test::open_cpu();
  test::Random random(test::base_seed());
  for (const Vec3 factor : {Vec3{2, 2, 2}, Vec3{3, 1, 2}, Vec3{1, 2, 5}}) {
    const UpsampleProblem whole{{1, 1, {5, 5, 1050}}, factor, UpsampleKind::linear};
    UpsampleProblem window = whole;
    window.in.n.x = 1030;
    const std::vector<std::vector<float>> all = {random.normals(elements(whole.in))};
    std::vector<std::vector<float>> some(1);
    for (std::int64_t row = 0; row < 25; ++row) {
      const auto from = all[0].begin() + row * 1050 + 7;
      some[0].insert(some[0].end(), from, from + 1030);
    }
    const Estimate planar = upsample_linear.describe(whole, device->spec()).value()[0];
    ASSERT_EQ(planar.in, Format{});
    const Estimate same = upsample_linear.describe(window, device->spec()).value()[0];
    const std::vector<float> large = test::run_once(upsample_linear, whole, planar, {}, all, *device).values;
    const std::vector<float> small = test::run_once(upsample_linear, window, same, {}, some, *device).values;
    const std::int64_t n_large = output_shape(whole).n.x;
    const std::int64_t n_small = output_shape(window).n.x;
    for (std::int64_t i = 0; i < elements(output_shape(window)); ++i) {
      const std::int64_t at = i / n_small * n_large + 7 * factor.x + i % n_small;
      ASSERT_EQ(small[static_cast<std::size_t>(i)], large[static_cast<std::size_t>(at)]) << i;
    }
  }
}

TEST(UpsampleLinear, ReadsAndWritesBothLayouts) {
  const UpsampleProblem problem{{1, 5, {4, 4, 4}}, {1, 2, 3}, UpsampleKind::linear};
  EXPECT_EQ(test::offered_layouts(upsample_linear, problem, 16), (std::vector{planar, blocked16}));
  EXPECT_EQ(test::offered_layouts(upsample_linear, problem, 8), (std::vector{planar, blocked8}));
}

TEST(UpsampleLinear, RefusesWhatDoesNotInterpolate) {
  const std::string_view reason = "cpu.upsample.linear computes linear upsamplings";
  test::expect_refusal(upsample_linear, AddProblem{{1, 2, {3, 3, 3}}, 2, {}}, reason);
  test::expect_refusal(upsample_linear, UpsampleProblem{{1, 2, {3, 3, 3}}, {2, 2, 2}, UpsampleKind::nearest}, reason);
}

}  // namespace
}  // namespace znni::cpu
