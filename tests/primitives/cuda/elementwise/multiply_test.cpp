#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive multiply;

namespace {

TEST(CudaMultiply, DescribesItsProblemInEveryFormat) {
  for (const std::int64_t f_other : {80, 1}) {
    const std::vector<Estimate> estimates = sound_estimates(multiply, MultiplyProblem{{1, 80, {9, 9, 9}}, f_other});
    EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
  }
}

TEST(CudaMultiply, RefusesOtherProblemsAndDevices) {
  expect_refusal(multiply, AddProblem{{1, 3, {2, 2, 2}}, 2, {}}, "computes products of two tensors");
  expect_refusal(multiply, MultiplyProblem{{1, 80, {9, 9, 9}}, 1}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
