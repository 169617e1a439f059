#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive activation;
extern const Primitive softmax;

namespace {

TEST(CudaSoftmax, DescribesItsProblemInEveryFormat) {
  for (const AcrossKind kind : {AcrossKind::softmax, AcrossKind::log_softmax}) {
    const std::vector<Estimate> estimates = sound_estimates(softmax, AcrossChannelsProblem{{1, 3, {9, 9, 9}}, kind});
    EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
  }
}

// An activation of the same tensor has two passes over memory; this has four.
TEST(CudaSoftmax, ReadsItsInputThreeTimes) {
  const Shape5 tensor{1, 80, {99, 99, 99}};
  const Seconds two = sound_estimates(activation, ActivationProblem{tensor, {}}).front().time;
  EXPECT_NEAR(sound_estimates(softmax, AcrossChannelsProblem{tensor, AcrossKind::softmax}).front().time / two, 2.0,
              0.05);
}

TEST(CudaSoftmax, RefusesOtherProblemsAndDevices) {
  for (const AcrossKind kind : {AcrossKind::arg_max, AcrossKind::arg_max_last, AcrossKind::norm}) {
    expect_refusal(softmax, AcrossChannelsProblem{{1, 3, {2, 2, 2}}, kind}, "computes softmaxes");
  }
  expect_refusal(softmax, ActivationProblem{{1, 3, {2, 2, 2}}, {}}, "computes softmaxes");
  expect_refusal(softmax, AcrossChannelsProblem{{1, 3, {9, 9, 9}}}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
