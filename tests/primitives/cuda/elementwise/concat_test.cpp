#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive concat;

namespace {

TEST(CudaConcat, DescribesItsProblemInEveryFormat) {
  const std::vector<Estimate> estimates =
      sound_estimates(concat, ConcatProblem{{{1, 8, {9, 9, 9}}, {1, 3, {9, 9, 9}}}});
  EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
}

TEST(CudaConcat, RefusesOtherProblemsAndDevices) {
  expect_refusal(concat, AcrossChannelsProblem{{1, 3, {2, 2, 2}}}, "computes concatenations");
  expect_refusal(concat, ConcatProblem{{{1, 8, {9, 9, 9}}, {1, 3, {9, 9, 9}}}}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
