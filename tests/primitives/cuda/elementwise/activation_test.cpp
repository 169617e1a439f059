#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive activation;

namespace {

TEST(CudaActivation, DescribesItsProblemInEveryFormat) {
  const std::vector<Estimate> estimates =
      sound_estimates(activation, ActivationProblem{{1, 80, {9, 9, 9}}, {ActivationKind::relu, 0.0F}});
  EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
}

TEST(CudaActivation, RefusesOtherProblemsAndDevices) {
  expect_refusal(activation, AcrossChannelsProblem{{1, 3, {2, 2, 2}}}, "computes activations");
  expect_refusal(activation, ActivationProblem{{1, 80, {9, 9, 9}}, {ActivationKind::relu, 0.0F}}, "runs on GPUs",
                 a_cpu());
}

}  // namespace
}  // namespace znni::cuda
