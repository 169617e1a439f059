#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive add;

namespace {

TEST(CudaAdd, DescribesItsProblemInEveryFormat) {
  const std::vector<Estimate> estimates = sound_estimates(add, AddProblem{{1, 80, {9, 9, 9}}, 3, {}});
  EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
}

TEST(CudaAdd, RefusesOtherProblemsAndDevices) {
  expect_refusal(add, AddProblem{{1, 3, {2, 2, 2}}, 9, {}}, "computes additions of up to 8");
  expect_refusal(add, AddProblem{{1, 80, {9, 9, 9}}, 3, {}}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
