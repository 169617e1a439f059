#include "primitives/cuda/elementwise/moments_layer.hpp"

#include "primitives/cuda/kernels/moments_kernel.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"
#include "tests/primitives/cuda/no_gpu.hpp"

namespace znni::cuda {
namespace {

TEST(MomentsLayer, CountsEveryReadOfTheInput) {
  const NormProblem problem{{1, 80, {101, 101, 101}}, 8};
  for (const double reads : {1.0, 2.0}) {
    const Result<std::vector<Estimate>> estimates = describe_moments("cuda.norm", problem, described_gpu(), reads);
    ASSERT_TRUE(estimates.has_value());
    for (const Estimate& estimate : *estimates) {
      const auto bytes = (reads + 1.0) * static_cast<double>(tensor_bytes(problem.in, estimate.in));
      EXPECT_GT(estimate.time, bytes / described_gpu().bytes_per_second);
      EXPECT_LT(estimate.time, 1.5 * bytes / described_gpu().bytes_per_second);
    }
  }
}

TEST(MomentsLayer, OtherDevicesAreRefused) {
  NoGpu other;
  EXPECT_FALSE(make_moments_layer(other, {}, {}).has_value());
}

TEST(MomentsLayer, TypesAndWidthsWithoutAKernelAreNotLaunched) {
  FactorsArg arg;
  arg.width = 3;
  EXPECT_EQ(launch_factors(arg, Storage::f32, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(launch_moments({}, Storage::u8, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

TEST(MomentsLayer, MoreBlocksThanAGridHasAreNotLaunched) {
  MomentsArg parts;
  parts.S = max_moments_blocks + 1;
  EXPECT_EQ(launch_moments(parts, Storage::f32, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
  GroupsArg groups;
  groups.groups = max_moments_blocks + 1;
  EXPECT_EQ(launch_groups(groups, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace znni::cuda
