#include "primitives/gpu/estimates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

DeviceSpec gpu() {
  DeviceSpec spec;
  spec.kind = DeviceKind::gpu;
  spec.flops_per_second = 6e13;
  spec.bytes_per_second = 4e12;
  spec.accelerator.tf32_flops_per_second = 4e14;
  spec.accelerator.bf16_flops_per_second = 9e14;
  return spec;
}

TEST(CudaEstimates, FormatsFollowTheUnits) {
  DeviceSpec spec = gpu();
  EXPECT_THAT(gpu_formats(spec), ::testing::ElementsAre(planar_f32, last_f32, last_bf16));
  spec.accelerator.bf16_flops_per_second = 0;
  EXPECT_THAT(gpu_formats(spec), ::testing::ElementsAre(planar_f32, last_f32));
  spec.accelerator.tf32_flops_per_second = 0;
  EXPECT_THAT(gpu_formats(spec), ::testing::ElementsAre(planar_f32));
}

TEST(CudaEstimates, StreamingProblemsHoldTheirTensorsInDeviceMemory) {
  const ActivationProblem problem{{1, 80, {100, 100, 100}}, {ActivationKind::relu, 0.0F}};
  const Result<std::vector<Estimate>> estimates = streaming_estimates("cuda.x", problem, gpu());
  ASSERT_TRUE(estimates.has_value());
  for (const Estimate& estimate : *estimates) {
    EXPECT_EQ(peak(estimate.memory, MemorySpace::host), 0);
    EXPECT_EQ(peak(estimate.memory, MemorySpace::device),
              tensor_bytes(problem.in, estimate.in) + tensor_bytes(problem.in, estimate.out));
    EXPECT_GT(estimate.time, tensor_traffic(problem, estimate.in, estimate.out) / 4e12);
  }
}

TEST(CudaEstimates, WhatIsReadAgainIsCounted) {
  const ActivationProblem problem{{1, 80, {100, 100, 100}}, {ActivationKind::relu, 0.0F}};
  const Seconds once = streaming_estimates("cuda.x", problem, gpu())->front().time;
  const Seconds thrice = streaming_estimates("cuda.x", problem, gpu(), 3)->front().time;
  EXPECT_NEAR(thrice / once, 2.0, 0.1) << "four passes over the tensor for two";
}

TEST(CudaEstimates, CpusAndLongRowsAreRefused) {
  const ActivationProblem problem{{1, 1, {1, 1, 10}}, {}};
  const Result<std::vector<Estimate>> cpu = streaming_estimates("cuda.x", problem, DeviceSpec());
  ASSERT_FALSE(cpu.has_value());
  EXPECT_EQ(cpu.error().message, "cuda.x runs on GPUs, not on ''");
  const ActivationProblem longest{{1, 4096, {1, 1, 1 << 20}}, {}};
  const Result<std::vector<Estimate>> rows = streaming_estimates("cuda.x", longest, gpu());
  ASSERT_FALSE(rows.has_value());
  EXPECT_THAT(rows.error().message, ::testing::StartsWith("cuda.x has rows of"));
}

TEST(CudaEstimates, TimeIsTheLongerOfArithmeticAndMemory) {
  EXPECT_NEAR(modelled_time(gpu(), 1.0, 0.0), 1.0, 1e-3);
  EXPECT_GT(modelled_time(gpu(), 1e-3, 4e12), 1.0);
  EXPECT_EQ(float_bytes(saturated), saturated);
  EXPECT_EQ(complex_bytes(3), 24);
}

}  // namespace
}  // namespace znni::cuda
