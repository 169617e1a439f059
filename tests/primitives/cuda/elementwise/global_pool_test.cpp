#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive global_pool;

namespace {

TEST(CudaGlobalPool, DescribesItsProblemInEveryFormat) {
  for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
    EXPECT_EQ(sound_estimates(global_pool, GlobalPoolProblem{{1, 80, {9, 9, 9}}, kind}).size(), 3U);
  }
}

TEST(CudaGlobalPool, RefusesOtherProblemsAndDevices) {
  expect_refusal(global_pool, PoolProblem{.in = {1, 3, {4, 4, 4}}}, "computes poolings of all voxels");
  expect_refusal(global_pool, GlobalPoolProblem{{1, 80, {9, 9, 9}}}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
