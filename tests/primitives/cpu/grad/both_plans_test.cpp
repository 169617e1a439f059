#include "primitives/cpu/grad/both_plans.hpp"

#include <gtest/gtest.h>

#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/fft_tiled/tile_choice.hpp"
#include "primitives/cpu/grad/turned.hpp"

namespace znni::cpu::fft_tiled {
namespace {

ConvProblem conv_of(std::int64_t n, std::int64_t k) {
  return {{1, 80, Vec3::cube(n)}, 64, Vec3::cube(k), Vec3::cube(1), Vec3::cube(1), {}};
}

TEST(BothPlans, OfferWholeAndSmallBatchesOfTheTurnedConvolution) {
  const DeviceSpec spec = describe_cpu(2);
  const ConvProblem conv = conv_of(96, 5);
  const TileKernels& kernels = *tile_kernels(4);
  const std::vector<Tiling> found = both_tilings(conv, kernels, spec);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].problem.in.f, 64);
  EXPECT_EQ(found[0].n_out(), conv.in.n);
  EXPECT_EQ(found[0].batches(), 1);
  EXPECT_GT(found[2].batches(), 1);
  EXPECT_LE(both_seconds(found[0], spec), both_seconds(found[1], spec));
  const auto bytes = [&](const Tiling& t) { return peak(both_memory(conv, t, kernels, 2, {}, {})); };
  EXPECT_LT(bytes(found[2]), bytes(found[0]));
}

TEST(BothPlans, OneTileAsLongAsTheInputIsEnough) {
  const ConvProblem conv = conv_of(16, 3);
  const Tiling tiling = both_tiling(conv, *tile_kernels(4), {{"tile_z", 16}, {"tile_y", 14}, {"tile_x", 18}});
  EXPECT_EQ(tiling.m(), (Vec3{16, 12, 16}));
  EXPECT_EQ(tiling.tiles(), (Vec3{1, 2, 1}));
  EXPECT_EQ(tiling.planes(), 16);
  EXPECT_EQ(extents_along(tiling.problem, 0, true).front(), 16);
  EXPECT_EQ(extents_along(tiling.problem, 0).front(), 18);
}

TEST(BothPlans, VariantsGiveTheTilingBack) {
  const ConvProblem conv = conv_of(48, 3);
  for (const Tiling& tiling : both_tilings(conv, *tile_kernels(4), describe_cpu(1))) {
    const Tiling again = both_tiling(conv, *tile_kernels(4), variant_of(tiling));
    EXPECT_EQ(again.T, tiling.T);
    EXPECT_EQ(again.stacks_per_batch, tiling.stacks_per_batch);
    EXPECT_EQ(again.problem.f_out, tiling.problem.f_out);
  }
}

TEST(BothPlans, TakeLongerThanTheGradientOfTheKernelsAlone) {
  const DeviceSpec spec = describe_cpu(1);
  const Tiling tiling{turned_problem(conv_of(48, 5)), 8, Vec3::cube(16), 4};
  EXPECT_GT(both_seconds(tiling, spec), weights_seconds(tiling, spec));
  EXPECT_LT(both_seconds(tiling, spec), 3 * weights_seconds(tiling, spec));
}

TEST(BothPlans, WorkersHaveScratchForEachOfTheirTasks) {
  const ConvProblem conv = conv_of(48, 3);
  const TileKernels& kernels = *tile_kernels(4);
  for (const std::int64_t stacks : {1, 3, 40}) {
    const Tiling tiling{turned_problem(conv), 8, Vec3::cube(16), stacks};
    const std::int64_t floats = both_worker_floats(tiling, kernels);
    EXPECT_GE(floats, weights_worker_floats(tiling));
    EXPECT_GE(floats, column_scratch(tiling, kernels, both_products(tiling)));
    EXPECT_GE(floats, spectra_scratch(tiling));
    EXPECT_EQ(floats % 16, 0);
    const auto scratch = [&](int workers) { return both_memory(conv, tiling, kernels, workers, {}, {}).back().bytes; };
    EXPECT_EQ(scratch(1), 4 * floats);
    EXPECT_EQ(scratch(3), 3 * scratch(1));
  }
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
