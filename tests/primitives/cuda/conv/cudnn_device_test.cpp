#include "primitives/cuda/conv/cudnn_device.hpp"

#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
namespace {

TEST(CudnnDevice, ADescribedGpuNeedsNoDriver) {
  const Result<CudnnDescriptor> device = cudnn_device(described_gpu());
  ASSERT_TRUE(device.has_value()) << device.error().message;
  EXPECT_NE(device->get(), nullptr);
}

// GPUs of which the driver says nothing: here, because there is no driver. Ours describes those of capability 9.0.
TEST(CudnnDevice, WithoutTheDriversDescriptionItIsOursAndThatIsSaidOnce) {
  if (!read_gpus().empty()) GTEST_SKIP() << "there is a driver";
  GpuProperties other = h200();
  other.name = "NVIDIA H100 80GB HBM3";
  for (const GpuProperties& gpu : {h200(), other}) {
    Notes notes;
    for (int again = 0; again < 2; ++again) {
      const Result<CudnnDescriptor> device = cudnn_device(spec_of(gpu), std::span(&gpu, 1), notes);
      ASSERT_TRUE(device.has_value()) << device.error().message;
    }
    EXPECT_THAT(notes.take(),
                ::testing::ElementsAre(::testing::AllOf(
                    ::testing::StartsWith("'" + gpu.name + "': the driver gives cuDNN no description of it ("),
                    ::testing::HasSubstr("CUDNN_STATUS"))));
  }
}

TEST(CudnnDevice, OfLimitsThatAreNotKnownThereIsNoDescription) {
  if (!read_gpus().empty()) GTEST_SKIP() << "there is a driver";
  GpuProperties older = h200();
  older.name = "NVIDIA A100";
  older.compute_capability = 80;
  Notes notes;
  EXPECT_FALSE(cudnn_device(spec_of(older), std::span(&older, 1), notes).has_value());
  EXPECT_THAT(notes.take(), ::testing::IsEmpty());
}

TEST(CudnnDevice, AGpuThatIsNotHereIsPlannedForWithANote) {
  Notes notes;
  ASSERT_TRUE(cudnn_device(described_gpu(), {}, notes).has_value());
  EXPECT_THAT(notes.take(), ::testing::ElementsAre(::testing::StartsWith("'NVIDIA H200' is not here")));
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
