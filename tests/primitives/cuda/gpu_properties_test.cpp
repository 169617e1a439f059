#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
namespace {

TEST(GpuProperties, ReadingNeverFails) {
  for (const GpuProperties& gpu : read_gpus()) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_GE(gpu.compute_capability, 75);
    EXPECT_GT(gpu.memory_bytes, 0);
    EXPECT_GT(spec_of(gpu).flops_per_second, 0);
  }
}

// The vendor's figures: 67 TFLOP/s, 495 in TF32, 990 in bf16, 4.8 TB/s; here at the highest clock.
TEST(GpuProperties, AnH200IsWhatItsVendorSays) {
  const DeviceSpec spec = described_gpu();
  EXPECT_EQ(spec.kind, DeviceKind::gpu);
  EXPECT_EQ(spec.accelerator.compute_capability, 90);
  EXPECT_NEAR(spec.flops_per_second, 67e12, 1e12);
  EXPECT_NEAR(spec.accelerator.tf32_flops_per_second, 495e12, 50e12);
  EXPECT_NEAR(spec.accelerator.bf16_flops_per_second, 990e12, 100e12);
  EXPECT_NEAR(spec.bytes_per_second, 4.3e12, 0.1e12);
  EXPECT_EQ(spec, described_gpu()) << "the same properties, the same spec";
}

TEST(GpuProperties, GpusWithoutUnitsForBf16OfferNone) {
  GpuProperties turing = h200();
  turing.compute_capability = 75;
  EXPECT_EQ(spec_of(turing).accelerator.bf16_flops_per_second, 0);
}

}  // namespace
}  // namespace znni::cuda
