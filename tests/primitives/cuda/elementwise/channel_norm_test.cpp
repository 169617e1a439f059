#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive activation;
extern const Primitive channel_norm;

namespace {

const AcrossChannelsProblem problem{{1, 80, {9, 9, 9}}, AcrossKind::norm};

TEST(CudaChannelNorm, DescribesItsProblemInEveryFormat) {
  EXPECT_EQ(sound_estimates(channel_norm, problem).size(), 3U);  // planar f32; channels last f32 and bf16
}

// An activation of the same tensor has two passes over memory; this has four.
TEST(CudaChannelNorm, ReadsItsInputThreeTimes) {
  const Shape5 tensor{1, 80, {99, 99, 99}};
  const Seconds two = sound_estimates(activation, ActivationProblem{tensor, {}}).front().time;
  EXPECT_NEAR(sound_estimates(channel_norm, AcrossChannelsProblem{tensor, AcrossKind::norm}).front().time / two, 2.0,
              0.05);
}

TEST(CudaChannelNorm, RefusesOtherProblemsAndDevices) {
  for (const AcrossKind kind : {AcrossKind::softmax, AcrossKind::arg_max, AcrossKind::log_softmax, AcrossKind::unit}) {
    expect_refusal(channel_norm, AcrossChannelsProblem{{1, 3, {2, 2, 2}}, kind}, "computes normalisations");
  }
  expect_refusal(channel_norm, problem, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
