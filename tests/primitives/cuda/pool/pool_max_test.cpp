#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive pool_max;

namespace {

TEST(CudaPoolMax, DescribesItsProblemInEveryFormat) {
  const std::vector<Estimate> estimates = sound_estimates(pool_max, PoolProblem{.in = {1, 80, {8, 8, 8}}});
  EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
}

TEST(CudaPoolMax, RefusesOtherProblemsAndDevices) {
  expect_refusal(pool_max, PoolProblem{.in = {1, 3, {8, 8, 8}}, .kind = PoolKind::average},
                 "computes plain max poolings");
  expect_refusal(pool_max, PoolProblem{.in = {1, 80, {8, 8, 8}}}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
