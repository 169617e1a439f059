#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive prelu;

namespace {

TEST(CudaPRelu, DescribesItsProblemInEveryFormat) {
  const std::vector<Estimate> estimates = sound_estimates(prelu, PReluProblem{{1, 80, {9, 9, 9}}});
  EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
  for (const Estimate& estimate : estimates) {
    EXPECT_EQ(persistent_bytes(estimate.memory, MemorySpace::device), 80 * 4);
  }
}

TEST(CudaPRelu, RefusesOtherProblemsAndDevices) {
  expect_refusal(prelu, ScaleShiftProblem{{1, 3, {2, 2, 2}}}, "computes rectifiers with a slope for each channel");
  expect_refusal(prelu, PReluProblem{{1, 80, {9, 9, 9}}}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
