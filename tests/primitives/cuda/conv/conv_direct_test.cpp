#include "primitives/cuda/kernels/direct_kernel.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive conv_direct;

namespace {

ConvProblem depthwise() {
  ConvProblem conv{.in = {2, 80, {9, 9, 9}}, .f_out = 80, .k = {3, 3, 3}, .activation = {}};
  conv.groups = 80;
  return conv;
}

TEST(CudaConvDirect, DescribesStridesAndGroupsInEveryFormat) {
  ConvProblem strided{.in = {2, 80, {9, 9, 9}}, .f_out = 6, .k = {3, 3, 3}, .activation = {}};
  strided.stride = {1, 2, 2};
  for (const ConvProblem& conv : {strided, depthwise()}) {
    const std::vector<Estimate> estimates = sound_estimates(conv_direct, conv);
    ASSERT_EQ(estimates.size(), 3U);                          // planar f32; channels last f32 and bf16
    const std::int64_t channels = conv.groups == 1 ? 8 : 80;  // of blocks of 4, and of 1
    for (const Estimate& estimate : estimates) {
      EXPECT_EQ(persistent_bytes(estimate.memory, MemorySpace::device), (terms_of(conv) * channels + channels) * 4);
    }
  }
}

TEST(CudaConvDirect, RefusesOtherProblemsAndDevices) {
  const ConvProblem plain{.in = {2, 80, {9, 9, 9}}, .f_out = 6, .k = {3, 3, 3}, .activation = {}};
  expect_refusal(conv_direct, plain, "computes convolutions with strides or");
  expect_refusal(conv_direct, AcrossChannelsProblem{{1, 3, {2, 2, 2}}}, "computes convolutions");
  expect_refusal(conv_direct, depthwise(), "runs on GPUs", a_cpu());
}

TEST(CudaConvDirect, BlocksWithoutAKernelAreNotLaunched) {
  EXPECT_EQ(launch_direct({}, Storage::f32, 3, {}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(launch_direct({}, Storage::u8, 1, {}, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace znni::cuda
