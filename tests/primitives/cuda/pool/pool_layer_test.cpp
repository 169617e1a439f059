#include "primitives/cuda/pool/pool_layer.hpp"

#include "primitives/cuda/kernels/pool_kernel.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"
#include "tests/primitives/cuda/no_gpu.hpp"

namespace znni::cuda {
namespace {

TEST(CudaPoolLayer, MovesEveryTensorOnce) {
  const PoolProblem pool{.in = {1, 80, {101, 101, 101}}, .mode = PoolMode::fragments};
  const Result<std::vector<Estimate>> estimates = describe_pool("cuda.pool.mpf", pool, described_gpu());
  ASSERT_TRUE(estimates.has_value());
  for (const Estimate& estimate : *estimates) {
    const auto bytes =
        static_cast<double>(tensor_bytes(pool.in, estimate.in) + tensor_bytes(output_shape(pool), estimate.out));
    EXPECT_GT(estimate.time, bytes / described_gpu().bytes_per_second);
    EXPECT_LT(estimate.time, 2.0 * bytes / described_gpu().bytes_per_second);
  }
}

TEST(CudaPoolLayer, OtherDevicesAreRefused) {
  NoGpu other;
  Arena arena({});
  const PoolProblem pool{.in = {1, 1, {4, 4, 4}}};
  EXPECT_FALSE(prepare_pool(pool, {}, {}, arena, other).has_value());
}

TEST(CudaPoolLayer, WidthsWithoutAKernelAreNotLaunched) {
  EXPECT_EQ(launch_pool({}, Storage::f32, 3, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(launch_pool({}, Storage::u8, 1, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace znni::cuda
