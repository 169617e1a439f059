#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive pool_average;

namespace {

TEST(CudaPoolAverage, DescribesItsProblemInEveryFormat) {
  for (const PoolKind kind : {PoolKind::average, PoolKind::average_inside}) {
    const std::vector<Estimate> estimates =
        sound_estimates(pool_average, PoolProblem{.in = {1, 80, {8, 8, 8}}, .kind = kind});
    EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
  }
}

TEST(CudaPoolAverage, RefusesOtherProblemsAndDevices) {
  expect_refusal(pool_average, PoolProblem{.in = {1, 3, {8, 8, 8}}}, "computes plain average poolings");
  expect_refusal(pool_average, PoolProblem{.in = {1, 80, {8, 8, 8}}, .kind = PoolKind::average}, "runs on GPUs",
                 a_cpu());
}

}  // namespace
}  // namespace znni::cuda
