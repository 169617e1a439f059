#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive norm;

namespace {

const NormProblem problem{{2, 80, {9, 9, 9}}, 8};

TEST(CudaNorm, DescribesItsProblemInEveryFormat) {
  const std::vector<Estimate> estimates = sound_estimates(norm, problem);
  EXPECT_EQ(estimates.size(), 3U);  // planar f32; channels last f32 and bf16
  for (const Estimate& estimate : estimates) {
    EXPECT_EQ(persistent_bytes(estimate.memory, MemorySpace::device), 2 * 80 * 4);
  }
}

TEST(CudaNorm, RefusesOtherProblemsAndDevices) {
  expect_refusal(norm, AcrossChannelsProblem{{1, 3, {2, 2, 2}}, AcrossKind::norm}, "computes instance and group");
  NormProblem response = problem;
  response.kind = NormKind::response;
  expect_refusal(norm, response, "computes instance and group");
  expect_refusal(norm, problem, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
