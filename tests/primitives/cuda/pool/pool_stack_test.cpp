#include "primitives/cuda/kernels/stack_kernel.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive pool_stack;

namespace {

// Poolings, each with a scale and an activation behind it.
StackProblem stack_of(int poolings) {
  const StackStage pool{StackOperation::pool, PoolKind::max, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1)};
  StackStage relu{StackOperation::activation};
  relu.activation.kind = ActivationKind::relu;
  StackProblem stack{{1, 32, Vec3::cube(64)}, {}, Vec3::cube(1)};
  for (int i = 0; i < poolings; ++i) {
    stack.stages.insert(stack.stages.end(), {pool, {StackOperation::scale_shift}, relu});
  }
  return stack;
}

TEST(CudaPoolStack, DescribesItsProblemInEveryFormatAndDepth) {
  const std::vector<Estimate> estimates = sound_estimates(pool_stack, stack_of(3));
  EXPECT_EQ(estimates.size(), 9U);  // planar f32; channels last f32 and bf16; one to three poolings in a launch
  for (const Estimate& estimate : estimates) {
    const std::int64_t depth = setting(estimate.variant, "depth", 0);
    const std::int64_t tensor = tensor_bytes(stack_of(3).in, estimate.in);
    EXPECT_EQ(peak(estimate.memory, MemorySpace::device), tensor * (depth == 1 ? 4 : depth == 2 ? 3 : 2)) << depth;
    EXPECT_EQ(persistent_bytes(estimate.memory, MemorySpace::device), 2 * 3 * 32 * 4);
    EXPECT_GT(estimate.time, static_cast<double>(2 * tensor) / described_gpu().bytes_per_second);
  }
}

TEST(CudaPoolStack, LongStacksHaveLaunchesOfAFew) {
  for (const Estimate& estimate : sound_estimates(pool_stack, stack_of(40))) {
    EXPECT_LE(setting(estimate.variant, "depth", 0), max_stack_links);
  }
}

TEST(CudaPoolStack, RefusesOtherProblemsAndDevices) {
  expect_refusal(pool_stack, PoolProblem{.in = {1, 3, {8, 8, 8}}}, "computes stacks of poolings");
  expect_refusal(pool_stack, stack_of(1), "runs on GPUs", a_cpu());
}

TEST(CudaPoolStack, TypesWithoutAKernelAreNotLaunched) {
  EXPECT_EQ(launch_stack({}, Storage::u8, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace znni::cuda
