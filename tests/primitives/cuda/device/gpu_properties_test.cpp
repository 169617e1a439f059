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

TEST(GpuProperties, AnAttributeOfZeroIsNoRate) {
  GpuProperties silent = h200();
  silent.hertz = silent.memory_hertz = 0;
  silent.memory_bus_bits = 0;
  const DeviceSpec spec = spec_of(with_assumed_rates(silent));
  EXPECT_GT(spec.flops_per_second, 1e12);
  EXPECT_GT(spec.bytes_per_second, 1e10);
  EXPECT_LT(spec.bytes_per_second, described_gpu().bytes_per_second);
  EXPECT_EQ(spec_of(with_assumed_rates(h200())), described_gpu()) << "what is told stays";
}

TEST(GpuProperties, GpusWithoutUnitsForBf16OfferNone) {
  GpuProperties turing = h200();
  turing.compute_capability = 75;
  EXPECT_EQ(spec_of(turing).accelerator.bf16_flops_per_second, 0);
}

}  // namespace
}  // namespace znni::cuda
