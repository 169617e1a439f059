#include "primitives/gpu/estimates.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive conv_first;
extern const Primitive conv_first_pool;
extern const Primitive pool_mpf;

namespace {

ConvPoolProblem first_layers(std::int64_t f = 1) {
  ConvPoolProblem both;
  both.conv = {{1, f, Vec3::cube(160)},      80,   Vec3::cube(4), Vec3::cube(1), Vec3::cube(1),
               {ActivationKind::relu, 0.0F}, false};
  both.pool = {.in = output_shape(both.conv), .mode = PoolMode::fragments};
  return both;
}

TEST(CudaConvFirstPool, WritesEveryFormatFromPlanarFloats) {
  const std::vector<Estimate> estimates = sound_estimates(conv_first_pool, first_layers());
  ASSERT_EQ(estimates.size(), 3U);
  for (const Estimate& estimate : estimates) EXPECT_EQ(estimate.in, planar_f32);
  EXPECT_EQ(estimates[2].out, last_bf16);
}

// Without the channels between them; and in less time than one after the other where memory is waited for.
TEST(CudaConvFirstPool, HoldsLessThanTheTwoLayers) {
  ConvPoolProblem both = first_layers();
  const std::int64_t between = tensor_bytes(both.pool.in, planar_f32);
  const std::vector<Estimate> estimates = sound_estimates(conv_first_pool, both);
  ASSERT_FALSE(estimates.empty());
  EXPECT_LT(peak(estimates[0].memory, MemorySpace::device), between + tensor_bytes(output_shape(both), planar_f32));
  both.conv.k = Vec3::cube(2);
  both.conv.in.n = both.pool.in.n + Vec3::cube(1);
  const Seconds apart = sound_estimates(conv_first, both.conv)[0].time + sound_estimates(pool_mpf, both.pool)[0].time;
  EXPECT_LT(sound_estimates(conv_first_pool, both)[0].time, apart);
}

TEST(CudaConvFirstPool, RefusesWhatItsTilesDoNotHold) {
  expect_refusal(conv_first_pool, first_layers(5), "up to 4 channels");
  ConvPoolProblem average = first_layers();
  average.pool.kind = PoolKind::average;
  expect_refusal(conv_first_pool, average, "a max pooling");
  ConvPoolProblem wide = first_layers();
  wide.pool.window = wide.pool.stride = {1, 1, 4};
  expect_refusal(conv_first_pool, wide, "windows up to 3");
  ConvPoolProblem strided = first_layers();
  strided.conv.stride.z = 2;
  expect_refusal(conv_first_pool, strided, "convolutions without stride or groups, not: conv");
  expect_refusal(conv_first_pool, first_layers().conv, "with a max pooling behind them");
  expect_refusal(conv_first_pool, first_layers(), "runs on GPUs", a_cpu());
}

}  // namespace
}  // namespace znni::cuda
