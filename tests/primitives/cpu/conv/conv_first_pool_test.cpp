#include "primitives/cpu/device/estimates.hpp"
#include "tests/support/cpu.hpp"

namespace znni::cpu {

extern const Primitive conv_first_pool;

namespace {

ConvPoolProblem first_layers(std::int64_t f, Vec3 k, Vec3 positions) {
  ConvPoolProblem both;
  both.pool.mode = PoolMode::fragments;
  both.pool.in = {1, 20, positions * both.pool.stride + both.pool.window - Vec3::cube(1)};
  both.conv = {
      {1, f, both.pool.in.n + k - Vec3::cube(1)}, 20, k, Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0}};
  return both;
}

class FirstPoolWorkers : public test::CpuWorkers {};

TEST_P(FirstPoolWorkers, RandomProblemsAgreeWithTheOracle) {
  for (int index = 0; index < test::case_count(60); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    ConvPoolProblem both = test::random_conv_pool_of_pairs(random, 8, 1e7);
    while (may_fall(both.conv.activation)) both.conv.activation = test::random_activation(random);
    test::check_primitive(conv_first_pool, both, *device_, seed);
  }
}

// Many tiles along each axis, with a shorter last one; the held planes are filled in both directions.
TEST_P(FirstPoolWorkers, LongAxesAgreeWithTheOracle) {
  std::uint64_t seed = 500;
  for (int axis = 0; axis < 3; ++axis) {
    for (const PoolMode mode : {PoolMode::plain, PoolMode::fragments}) {
      Vec3 positions{3, 2, 2};
      positions[axis] = 61;
      ConvPoolProblem both = first_layers(2, {3, 2, 4}, positions);
      both.pool.mode = mode;
      test::check_primitive(conv_first_pool, both, *device_, ++seed);
    }
  }
}

// Outputs larger than the last-level cache are written with non-temporal stores.
TEST_P(FirstPoolWorkers, WritesPastSmallCaches) {
  DeviceSpec spec = device_->spec();
  spec.l3_bytes = 1;
  const std::unique_ptr<Device> small = std::move(backend().open(spec, std::int64_t{1} << 30, 0, 0).value());
  ConvPoolProblem both = first_layers(1, {4, 3, 5}, {4, 9, 20});
  test::check_primitive(conv_first_pool, both, *small, 600);
  both.pool.groups = {2, 1, 2};
  test::check_primitive(conv_first_pool, both, *small, 601);
}

INSTANTIATE_TEST_SUITE_P(ConvFirstPool, FirstPoolWorkers,
                         testing::Values(std::pair{16, 1}, std::pair{16, 2}, std::pair{16, 3}, std::pair{8, 2},
                                         std::pair{4, 2}));

TEST(ConvFirstPool, HoldsNothingOfTheChannelsBetween) {
  const ConvPoolProblem both = first_layers(1, Vec3::cube(5), Vec3::cube(60));
  const DeviceSpec spec = describe_cpu(2);
  const Result<std::vector<Estimate>> estimates = conv_first_pool.describe(both, spec);
  ASSERT_TRUE(estimates.has_value());
  ASSERT_FALSE(estimates->empty());
  const std::int64_t out = tensor_bytes(output_shape(both), blocked_format(spec));
  const std::int64_t in = tensor_bytes(both.conv.in, planar_format);
  for (const Estimate& estimate : *estimates) {
    EXPECT_EQ(estimate.in, planar_format);
    EXPECT_EQ(estimate.out, blocked_format(spec));
    EXPECT_LT(peak(estimate.memory) - persistent_bytes(estimate.memory), in + out + (std::int64_t{16} << 20));
  }
}

TEST(ConvFirstPool, RefusesWhatItDoesNotCompute) {
  const ConvPoolProblem fine = first_layers(8, Vec3::cube(3), Vec3::cube(10));
  EXPECT_TRUE(conv_first_pool.describe(fine, describe_cpu(1)).has_value());
  test::expect_refusal(conv_first_pool, fine.conv, "with a max pooling of pairs behind them");
  test::expect_refusal(conv_first_pool, fine.pool, "with a max pooling of pairs behind them");
  test::expect_refusal(conv_first_pool, first_layers(9, Vec3::cube(3), Vec3::cube(10)), "up to 8 channels");
  ConvPoolProblem average = fine;
  average.pool.kind = PoolKind::average;
  test::expect_refusal(conv_first_pool, average, "a max pooling of pairs");
  ConvPoolProblem wide = fine;
  wide.pool.window = wide.pool.stride = {1, 2, 4};
  test::expect_refusal(conv_first_pool, wide, "a max pooling of pairs");
  ConvPoolProblem dilated = fine;
  dilated.conv.dilation.y = 2;
  test::expect_refusal(conv_first_pool, dilated, "without dilation");
  ConvPoolProblem strided = dilated;
  strided.conv.dilation.y = 1;
  strided.conv.stride.y = 2;
  test::expect_refusal(conv_first_pool, strided, "without stride");
  ConvPoolProblem falling = fine;
  for (const Activation activation : {Activation{ActivationKind::leaky_relu, -0.5F}, {ActivationKind::gelu}}) {
    falling.conv.activation = activation;
    test::expect_refusal(conv_first_pool, falling, "activations that never fall");
  }
  // With kernels of 46, a tile of 48 voxels gives 3: those that a window reads at both its offsets.
  EXPECT_TRUE(conv_first_pool.describe(first_layers(1, {1, 1, 46}, Vec3::cube(2)), describe_cpu(1)).has_value());
  test::expect_refusal(conv_first_pool, first_layers(1, {1, 1, 47}, Vec3::cube(2)), "tiles of up to 48 voxels");
}

}  // namespace
}  // namespace znni::cpu
