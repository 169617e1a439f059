#include "primitives/gpu/estimates.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive reorder;

namespace {

constexpr Shape5 shape{1, 80, {9, 9, 9}};

TEST(CudaReorder, DescribesEveryPairOfItsFormats) {
  const Format last_f16{ElementType::f16, Layout::channels_last};
  const Format planar_u8{ElementType::u8, Layout::planar};
  for (const auto& [from, to] : {std::pair{planar_f32, last_bf16}, std::pair{last_bf16, planar_f32},
                                 std::pair{planar_f32, last_f16}, std::pair{last_f32, planar_u8}}) {
    const std::vector<Estimate> estimates = sound_estimates(reorder, ReorderProblem{shape, from, to});
    ASSERT_EQ(estimates.size(), 1U);
    EXPECT_EQ(estimates[0].in, from);
    EXPECT_EQ(estimates[0].out, to);
  }
}

TEST(CudaReorder, RefusesBlockedLayoutsAndBytesAsSource) {
  const Format blocked{ElementType::f32, Layout::blocked8};
  expect_refusal(reorder, ReorderProblem{shape, planar_f32, blocked}, "computes reorders");
  expect_refusal(reorder, ReorderProblem{shape, planar_f32, planar_f32}, "computes reorders");
  expect_refusal(reorder, ReorderProblem{shape, {ElementType::u8, Layout::planar}, planar_f32}, "computes reorders");
  expect_refusal(reorder, ReorderProblem{shape, planar_f32, last_f32}, "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
