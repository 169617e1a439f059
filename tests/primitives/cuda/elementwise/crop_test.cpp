#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive crop;

namespace {

const CropProblem problem{{2, 8, {9, 9, 9}}, {1, 2, 0}, {0, 1, 3}};

TEST(CudaCrop, DescribesItsProblemInEveryFormat) {
  EXPECT_EQ(sound_estimates(crop, problem).size(), 3U);  // planar f32; channels last f32 and bf16
}

TEST(CudaCrop, RefusesOtherProblemsAndDevices) {
  expect_refusal(crop, AcrossChannelsProblem{{1, 3, {2, 2, 2}}}, "computes crops");
  expect_refusal(crop, problem, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
