#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive pool_mpf;

namespace {

TEST(CudaPoolMpf, DescribesItsProblemInEveryFormat) {
  const std::vector<Estimate> estimates =
      sound_estimates(pool_mpf, PoolProblem{.in = {1, 80, {9, 9, 9}}, .mode = PoolMode::fragments});
  EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
}

TEST(CudaPoolMpf, TakesDilationsAndMeansOfTheInside) {
  PoolProblem pool{.in = {1, 80, {10, 10, 13}}, .window = {3, 3, 2}, .mode = PoolMode::fragments};
  pool.dilation = {1, 1, 3};
  ASSERT_TRUE(check(pool)) << check(pool).error().message;
  for (const PoolKind kind : {PoolKind::max, PoolKind::average, PoolKind::average_inside}) {
    pool.kind = kind;
    EXPECT_EQ(sound_estimates(pool_mpf, pool).size(), 3U);
  }
}

TEST(CudaPoolMpf, RefusesOtherProblemsAndDevices) {
  expect_refusal(pool_mpf, PoolProblem{.in = {1, 3, {8, 8, 8}}}, "computes poolings into fragments");
  expect_refusal(pool_mpf, PoolProblem{.in = {1, 80, {9, 9, 9}}, .mode = PoolMode::fragments}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
