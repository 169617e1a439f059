// Devices of the CPU back end for tests, and random problems through one of its primitives.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "primitives/cpu/backend.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

// Opens this machine as a device. `simd_floats` 16, 8 or 4 pretends another vector width (formats follow it); 0 keeps
// this machine's.
[[nodiscard]] inline std::unique_ptr<Device> open_cpu(int threads = 2, int simd_floats = 0,
                                                      std::int64_t budget = std::int64_t{4} << 30) {
  DeviceSpec spec = cpu::describe_cpu(threads);
  if (simd_floats != 0) spec.simd_floats = simd_floats;
  Result<std::unique_ptr<Device>> device = cpu::backend().open(spec, budget, 0, 0);
  return std::move(device.value());
}

// Checks `count` problems from make(random), which must return problems that the primitive takes, for each vector
// width.
template <class Make>
void check_random(const Primitive& primitive, int count, const Make& make) {
  for (const int simd_floats : {16, 8, 4}) {
    const std::unique_ptr<Device> device = open_cpu(2, simd_floats);
    for (int i = 0; i < case_count(count); ++i) {
      const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
      Random random(seed);
      const LayerProblem problem = make(random);
      SCOPED_TRACE(to_string(problem) + ", vectors of " + std::to_string(simd_floats));
      check_primitive(primitive, problem, *device, seed);
    }
  }
}

// A device with this number of floats per vector and of workers; skipped if this processor has no such vectors.
class CpuWorkers : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  void SetUp() override {
    const auto [simd_floats, threads] = GetParam();
    if (simd_floats > cpu::describe_cpu(1).simd_floats) GTEST_SKIP() << "this processor has no such vectors";
    device_ = open_cpu(threads, simd_floats);
  }
  std::unique_ptr<Device> device_;
};

// Returns whether the primitive can compute anything on this machine; oneDNN is used only with AVX2 and AVX-512, in
// bf16 with AVX512_BF16.
[[nodiscard]] inline bool takes_part(const Primitive& primitive) {
  if (primitive.name == "cpu.conv.onednn_bf16") return cpu::describe_cpu(1).accelerator.bf16_flops_per_second > 0;
  return primitive.name != "cpu.conv.onednn" || cpu::describe_cpu(1).simd_floats >= 8;
}

// Expects that the primitive refuses `problem`, with a message that contains `reason`.
inline void expect_refusal(const Primitive& primitive, const LayerProblem& problem, std::string_view reason) {
  const Result<std::vector<Estimate>> estimates = primitive.describe(problem, cpu::describe_cpu(1));
  ASSERT_FALSE(estimates.has_value()) << primitive.name << " takes " << to_string(problem);
  EXPECT_EQ(estimates.error().code, ErrorCode::unsupported);
  EXPECT_NE(estimates.error().message.find(reason), std::string::npos) << estimates.error().message;
}

// Returns the layouts that the primitive offers for `problem` at a vector width.
[[nodiscard]] inline std::vector<Layout> offered_layouts(const Primitive& primitive, const LayerProblem& problem,
                                                         int simd_floats) {
  DeviceSpec spec = cpu::describe_cpu(1);
  spec.simd_floats = simd_floats;
  const Result<std::vector<Estimate>> estimates = primitive.describe(problem, spec);
  std::vector<Layout> layouts;
  for (const Estimate& estimate : estimates.value()) {
    layouts.push_back(estimate.in.layout);
    EXPECT_EQ(estimate.in, estimate.out);
  }
  return layouts;
}

}  // namespace znni::test
