#include "primitives/cpu/conv/bf16_slabs.hpp"

#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

// Returns a processor with AVX512_BF16, whether or not this one has it.
DeviceSpec with_bf16(int threads) {
  DeviceSpec spec;
  spec.threads = threads;
  spec.simd_floats = 16;
  spec.hertz = 3e9;
  spec.flops_per_second = 64 * spec.hertz * threads;
  spec.accelerator.bf16_flops_per_second = 128 * spec.hertz * threads;
  return spec;
}

TEST(Bf16Slabs, CoverTheOutputInEqualParts) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    test::Random random(seed);
    const ConvProblem problem = seed % 2 == 0 ? test::random_conv(random) : test::random_strided_conv(random);
    const Bf16Slabs slabs = choose_slabs(problem, with_bf16(static_cast<int>(random.integer(1, 5))));
    SCOPED_TRACE(to_string(LayerProblem(problem)) + " in " + to_string(LayerProblem(slabs.slab)));
    ASSERT_TRUE(check(LayerProblem(slabs.slab)));
    const Vec3 whole = output_shape(problem).n;
    const Vec3 own = output_shape(slabs.slab).n;
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_LE(own[axis], whole[axis]);
      EXPECT_GE(own[axis] * slabs.pieces[axis], whole[axis]);
      EXPECT_LT(own[axis] * (slabs.pieces[axis] - 1), whole[axis]);
    }
    EXPECT_EQ(slabs.pieces.x, 1);
    ConvProblem same = slabs.slab;
    same.in = problem.in;
    EXPECT_EQ(same, problem) << "only the input is cut";
    EXPECT_EQ(slabs.slab.in.S, 1);
    EXPECT_EQ(slabs.slab.in.f, problem.in.f);
  }
}

TEST(Bf16Slabs, StayInTheCacheAndKeepWorkersBusy) {
  const ConvProblem problem{{1, 64, {66, 66, 66}}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  for (const int threads : {1, 2, 3, 16}) {
    const DeviceSpec spec = with_bf16(threads);
    const Bf16Slabs slabs = choose_slabs(problem, spec);
    EXPECT_LE(slabs.rounded_bytes() + slabs.output_bytes(), spec.l2_bytes);
    EXPECT_GE(voxels(slabs.pieces), threads);
  }
}

TEST(Bf16Slabs, CountWholeBlocksOfChannels) {
  const ConvProblem problem{{1, 17, {3, 3, 10}}, 3, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  const Bf16Slabs slabs = choose_slabs(problem, with_bf16(1));
  EXPECT_EQ(slabs.rounded_bytes(), 2 * 32 * 3 * 3 * 10);
  EXPECT_EQ(slabs.output_bytes(), 4 * 16 * 8);
}

TEST(Bf16Slabs, TakeLongerForMoreWork) {
  const DeviceSpec spec = with_bf16(2);
  ConvProblem problem{{1, 32, {40, 40, 40}}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  const auto seconds = [&] { return seconds_in(choose_slabs(problem, spec), problem, spec); };
  const Seconds once = seconds();
  problem.residual = true;
  const Seconds adding = seconds();
  EXPECT_GT(adding, once);
  problem.f_out = 64;
  EXPECT_GT(seconds(), adding);
  problem.in.S = 3;
  EXPECT_GT(seconds(), 2.5 * adding);
}

}  // namespace
}  // namespace znni::cpu
