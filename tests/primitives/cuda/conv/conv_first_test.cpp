#include "primitives/gpu/estimates.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive conv_first;

namespace {

ConvProblem first_layer(std::int64_t f) {
  return {{1, f, Vec3::cube(40)}, 80, Vec3::cube(4), Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0.0F}, false};
}

TEST(CudaConvFirst, WritesEveryFormatFromPlanarFloats) {
  const std::vector<Estimate> estimates = sound_estimates(conv_first, first_layer(1));
  ASSERT_EQ(estimates.size(), 3U);
  for (const Estimate& estimate : estimates) EXPECT_EQ(estimate.in, planar_f32);
  EXPECT_EQ(estimates[2].out, last_bf16);
}

TEST(CudaConvFirst, RefusesManyChannelsAndResiduals) {
  expect_refusal(conv_first, first_layer(5), "up to 4 channels");
  ConvProblem residual = first_layer(1);
  residual.residual = true;
  expect_refusal(conv_first, residual, "without a residual");
  ConvProblem strided = first_layer(1);
  strided.stride.x = 2;
  expect_refusal(conv_first, strided, "convolutions without stride or groups, not: conv");
  expect_refusal(conv_first, first_layer(1), "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
