#include <gtest/gtest.h>

#include <array>

#include "primitives/core/fragments.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive pool_mpf;

namespace {

TEST(PoolMpf, MatchesTheOracleOnRandomProblems) {
  test::check_random(pool_mpf, 25, [](test::Random& random) { return test::random_pool(random, PoolMode::fragments); });
}

// Two poolings in a row; every fragment voxel must be the dense maximum at the place that fragments.hpp gives.
TEST(PoolMpf, DilatedWindowsMatchTheOracle) {
  test::check_random(pool_mpf, 25,
                     [](test::Random& random) { return test::random_dilated_pool(random, PoolMode::fragments); });
}

TEST(PoolMpf, FragmentsRecombineToTheDenseMaximum) {
  const std::unique_ptr<Device> device = test::open_cpu();
  const PoolProblem first{
      .in = {1, 2, {11, 11, 11}}, .window = {2, 2, 3}, .stride = {2, 2, 3}, .mode = PoolMode::fragments};
  PoolProblem second{.in = output_shape(first), .window = {3, 2, 1}, .stride = {3, 2, 1}, .mode = PoolMode::fragments};
  second.fragments = first.stride;
  ASSERT_TRUE(check(first).has_value()) << check(first).error().message;
  ASSERT_TRUE(check(second).has_value()) << check(second).error().message;
  test::Random random(3);
  const std::vector<float> channel = random.normals(elements(first.in));
  std::vector<std::vector<float>> values = {channel};
  for (const PoolProblem& pool : {first, second}) {
    const std::vector<Estimate> estimates = pool_mpf.describe(pool, device->spec()).value();
    values[0] = test::run_once(pool_mpf, pool, estimates[0], {}, values, *device).values;
  }
  // The dense window of both poolings together: first window, then the second at the first's stride.
  const Vec3 window = dilated(second.window, first.stride) + first.window - Vec3::cube(1);
  const PoolProblem dense{.in = first.in, .window = window, .stride = {1, 1, 1}};
  const std::vector<oracle::Values> exact = {oracle::widened(channel)};
  const oracle::Values expected = oracle::oracle_run(dense, exact, {});
  const Shape5 dense_shape = output_shape(dense);

  const std::array<AxisFragments, 3> axes = {AxisFragments{}.pooled(2).pooled(3), AxisFragments{}.pooled(2).pooled(2),
                                             AxisFragments{}.pooled(3).pooled(1)};
  const Shape5 shape = output_shape(second);
  const Vec3 fragments{6, 4, 3};
  const TensorView view = dense_view(values[0].data(), shape);
  for (std::int64_t s = 0; s < shape.S; ++s) {
    const Vec3 fragment = fragment_at(s, fragments);
    for (Vec3 v; v.z < shape.n.z; ++v.z) {
      for (v.y = 0; v.y < shape.n.y; ++v.y) {
        for (v.x = 0; v.x < shape.n.x; ++v.x) {
          Vec3 place;
          for (int axis = 0; axis < 3; ++axis) {
            const AxisFragments& along = axes[static_cast<std::size_t>(axis)];
            place[axis] = along.stride * v[axis] + along.offsets[static_cast<std::size_t>(fragment[axis])];
          }
          for (std::int64_t j = 0; j < shape.f; ++j) {
            const std::int64_t at =
                ((j * dense_shape.n.z + place.z) * dense_shape.n.y + place.y) * dense_shape.n.x + place.x;
            EXPECT_EQ(view.at(s, j, v), expected[static_cast<std::size_t>(at)]) << to_string(place);
          }
        }
      }
    }
  }
}

TEST(PoolMpf, RefusesPlainPoolings) {
  test::expect_refusal(pool_mpf, PoolProblem{.in = {1, 3, {4, 4, 4}}}, "computes poolings into fragments");
  const PoolProblem inside{.in = {1, 3, {3, 3, 3}}, .kind = PoolKind::average_inside, .mode = PoolMode::fragments};
  test::expect_refusal(pool_mpf, inside, "computes poolings into fragments");
}

}  // namespace
}  // namespace znni::cpu
