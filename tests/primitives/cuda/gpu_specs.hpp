// The GPU that tests plan for: an H200 as it is described, whether or not one is here.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primitives/core/primitive.hpp"
#include "primitives/cuda/device/gpu_properties.hpp"

namespace znni::cuda {

[[nodiscard]] inline DeviceSpec described_gpu() { return spec_of(h200()); }
[[nodiscard]] inline DeviceSpec a_cpu() {
  DeviceSpec spec;
  spec.name = "a CPU";
  return spec;
}

// Expects that the primitive refuses `problem`, with a message that holds `reason`.
inline void expect_refusal(const Primitive& primitive, const LayerProblem& problem, std::string_view reason,
                           const DeviceSpec& spec = described_gpu()) {
  const Result<std::vector<Estimate>> estimates = primitive.describe(problem, spec);
  ASSERT_FALSE(estimates.has_value()) << primitive.name << " takes " << to_string(problem);
  EXPECT_EQ(estimates.error().code, ErrorCode::unsupported);
  EXPECT_THAT(estimates.error().message, ::testing::HasSubstr(std::string(reason)));
  EXPECT_THAT(estimates.error().message, ::testing::StartsWith(std::string(primitive.name) + " "));
}

// Estimates of `problem`: inputs, output and all else in device memory, alive when they must be; none takes less than
// the primitive says. Returns them.
[[nodiscard]] inline std::vector<Estimate> sound_estimates(const Primitive& primitive, const LayerProblem& problem,
                                                           const DeviceSpec& spec = described_gpu()) {
  EXPECT_EQ(primitive.device, DeviceKind::gpu);
  Result<std::vector<Estimate>> estimates = primitive.describe(problem, spec);
  if (!estimates) {
    ADD_FAILURE() << estimates.error().message;
    return {};
  }
  const Seconds least = primitive.min_time == nullptr ? 0 : primitive.min_time(problem, spec);
  for (const Estimate& estimate : *estimates) {
    EXPECT_GT(estimate.time, 0.0);
    EXPECT_GE(estimate.time, least) << to_string(estimate.variant);
    EXPECT_EQ(peak(estimate.memory, MemorySpace::host) + peak(estimate.memory, MemorySpace::pinned), 0);
    std::int64_t tensors = tensor_bytes(output_shape(problem), estimate.out);
    for (int index = 0; index < input_count(problem); ++index) {
      const Format format = input_format(problem, index, estimate.in, estimate.out);
      tensors += tensor_bytes(input_shape(problem, index), format);
    }
    EXPECT_GE(peak(estimate.memory, MemorySpace::device), tensors) << to_string(estimate.variant);
  }
  return std::move(*estimates);
}

}  // namespace znni::cuda
