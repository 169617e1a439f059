#include "primitives/cuda/kernels/upsample_kernel.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive upsample;

namespace {

// Kernels have the kinds in the problem's order.
static_assert(static_cast<int>(Upsampling::nearest) == static_cast<int>(UpsampleKind::nearest));
static_assert(static_cast<int>(Upsampling::shuffle) == static_cast<int>(UpsampleKind::shuffle));
static_assert(static_cast<int>(Upsampling::linear) == static_cast<int>(UpsampleKind::linear));
static_assert(static_cast<int>(Upsampling::aligned) == static_cast<int>(UpsampleKind::aligned));

TEST(CudaUpsample, DescribesEveryKindInEveryFormat) {
  for (const UpsampleKind kind :
       {UpsampleKind::nearest, UpsampleKind::shuffle, UpsampleKind::linear, UpsampleKind::aligned}) {
    const UpsampleProblem problem{{1, 80, {9, 9, 9}}, {1, 2, 2}, kind};
    EXPECT_EQ(sound_estimates(upsample, problem).size(), 3U);  // planar f32; channels last f32 and bf16
  }
}

TEST(CudaUpsample, RefusesOtherProblemsAndDevices) {
  expect_refusal(upsample, AcrossChannelsProblem{{1, 3, {2, 2, 2}}}, "computes upsamplings");
  expect_refusal(upsample, UpsampleProblem{{1, 80, {9, 9, 9}}}, "runs on GPUs", a_cpu());
}

TEST(CudaUpsample, OutputsWithRowsTooLongForKernelsAreRefused) {
  expect_refusal(upsample, UpsampleProblem{{1, 80, {1, 1, 1 << 22}}, {1, 1, 4}}, "has rows of n.x * f");
}

TEST(CudaUpsample, WidthsWithoutAKernelAreNotLaunched) {
  EXPECT_EQ(launch_upsample({}, Storage::f32, 3, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(launch_upsample({}, Storage::u8, 1, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace znni::cuda
