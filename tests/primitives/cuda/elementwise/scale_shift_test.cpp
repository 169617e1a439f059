#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive scale_shift;

namespace {

TEST(CudaScaleShift, DescribesItsProblemInEveryFormat) {
  const std::vector<Estimate> estimates = sound_estimates(scale_shift, ScaleShiftProblem{{1, 80, {9, 9, 9}}});
  EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
  for (const Estimate& estimate : estimates) {
    EXPECT_EQ(persistent_bytes(estimate.memory, MemorySpace::device), 2 * 80 * 4);
  }
}

TEST(CudaScaleShift, RefusesOtherProblemsAndDevices) {
  expect_refusal(scale_shift, AcrossChannelsProblem{{1, 3, {2, 2, 2}}}, "computes scales and shifts");
  expect_refusal(scale_shift, ScaleShiftProblem{{1, 80, {9, 9, 9}}}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
