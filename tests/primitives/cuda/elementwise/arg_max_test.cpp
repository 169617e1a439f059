#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive arg_max;

namespace {

TEST(CudaArgMax, DescribesItsProblemInFloat32Alone) {
  for (const AcrossKind kind : {AcrossKind::arg_max, AcrossKind::arg_max_last}) {
    const std::vector<Estimate> estimates = sound_estimates(arg_max, AcrossChannelsProblem{{1, 80, {9, 9, 9}}, kind});
    ASSERT_EQ(estimates.size(), 2U);  // planar and channels last
    for (const Estimate& estimate : estimates) EXPECT_EQ(estimate.out.type, ElementType::f32);
  }
}

TEST(CudaArgMax, RefusesOtherProblemsAndDevices) {
  for (const AcrossKind kind : {AcrossKind::softmax, AcrossKind::norm, AcrossKind::log_softmax}) {
    expect_refusal(arg_max, AcrossChannelsProblem{{1, 3, {2, 2, 2}}, kind}, "computes numbers of largest channels");
  }
  expect_refusal(arg_max, AcrossChannelsProblem{{1, 3, {9, 9, 9}}, AcrossKind::arg_max}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
