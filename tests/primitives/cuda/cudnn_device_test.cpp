#include "primitives/cuda/cudnn_device.hpp"

#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
namespace {

TEST(CudnnDevice, ADescribedGpuNeedsNoDriver) {
  const Result<CudnnDescriptor> device = cudnn_device(described_gpu());
  ASSERT_TRUE(device.has_value()) << device.error().message;
  EXPECT_NE(device->get(), nullptr);
}

TEST(CudnnDevice, OthersAreRefusedInWords) {
  DeviceSpec spec = described_gpu();
  spec.name = "another GPU";
  const Result<CudnnDescriptor> device = cudnn_device(spec);
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error().code, ErrorCode::unsupported);
  EXPECT_THAT(device.error().message, ::testing::HasSubstr("'another GPU'"));
}

TEST(CudnnDevice, ReleasesWithWrongResultsAreRefused) {
  EXPECT_TRUE(check_cudnn_version(91900).has_value());
  const Result<void> old = check_cudnn_version(90800);
  ASSERT_FALSE(old.has_value());
  EXPECT_THAT(old.error().message, ::testing::HasSubstr("90800"));
}

TEST(CudnnDevice, TheDescriptionHoldsTheNumbers) {
  const std::string text = cudnn_description(h200());
  EXPECT_THAT(text, ::testing::HasSubstr("\"multiProcessorCount\":132"));
  EXPECT_THAT(text, ::testing::HasSubstr("\"deviceVer\":900"));
  EXPECT_THAT(text, ::testing::HasSubstr("\"deviceName\":\"NVIDIA H200\""));
}

}  // namespace
}  // namespace znni::cuda
