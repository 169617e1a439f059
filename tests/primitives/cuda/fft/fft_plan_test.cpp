#include "primitives/cuda/fft/fft_plan.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/primitives/cuda/require_gpu.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

TEST(FftPlan, WithoutADeviceTheFailureNamesThePlan) {
  if (!read_gpus().empty()) GTEST_SKIP() << "there is a GPU";
  const Result<FftPlan> plan = FftPlan::make(FftDirection::forward, {8, 8, 8}, 3, nullptr);
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(plan.error().message, ::testing::HasSubstr("cuFFT plan of 3 x 8x8x8: "));
}

class FftPlanOnGpu : public OnGpu {};

TEST_F(FftPlanOnGpu, ThereAndBackIsTheInputTimesItsVoxels) {
  const Extent n{12, 10, 14};
  const Index batch = 3;
  const auto voxels = static_cast<std::size_t>(batch * voxels_of(n));
  const cudaStream_t stream = device_->stream(Stream::compute);
  ASSERT_TRUE(device_->activate());
  const Result<FftPlan> forward = FftPlan::make(FftDirection::forward, n, batch, stream);
  const Result<FftPlan> inverse = FftPlan::make(FftDirection::inverse, n, batch, stream);
  ASSERT_TRUE(forward && inverse);
  const std::int64_t area = std::max(forward->area_bytes(), inverse->area_bytes()) + 1;
  Result<Reservation> real = device_->reserve(MemorySpace::device, static_cast<std::int64_t>(voxels * 4), "real");
  Result<Reservation> complex = device_->reserve(MemorySpace::device, batch * 12 * 10 * 8 * 8, "complex");
  Result<Reservation> work = device_->reserve(MemorySpace::device, area, "work");
  ASSERT_TRUE(real && complex && work);
  test::Random random(1);
  const std::vector<float> values = random.normals(static_cast<std::int64_t>(voxels));
  ASSERT_TRUE(device_->write(real->data(), std::as_bytes(std::span(values))));
  auto* const reals = reinterpret_cast<float*>(real->data());
  auto* const complexes = reinterpret_cast<float2*>(complex->data());
  ASSERT_TRUE(forward->run(reals, complexes, work->data()));
  ASSERT_TRUE(inverse->run(complexes, reals, work->data()));
  std::vector<float> back(voxels);
  ASSERT_TRUE(device_->read(std::as_writable_bytes(std::span(back)), real->data()));
  const auto scale = static_cast<float>(voxels_of(n));
  for (std::size_t i = 0; i < voxels; ++i) EXPECT_NEAR(back[i] / scale, values[i], 1e-5F);
}

}  // namespace
}  // namespace znni::cuda
