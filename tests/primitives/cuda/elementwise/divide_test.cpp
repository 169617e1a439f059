#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive divide;

namespace {

TEST(CudaDivide, DescribesItsProblemInEveryFormat) {
  for (const std::int64_t f_other : {80, 1}) {
    const std::vector<Estimate> estimates = sound_estimates(divide, DivideProblem{{1, 80, {9, 9, 9}}, f_other});
    EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
  }
}

TEST(CudaDivide, RefusesOtherProblemsAndDevices) {
  expect_refusal(divide, MultiplyProblem{{1, 3, {2, 2, 2}}, 1}, "computes quotients of two tensors");
  expect_refusal(divide, DivideProblem{{1, 80, {9, 9, 9}}, 1}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
