#include "primitives/cpu/grad/both_plans.hpp"

#include <gtest/gtest.h>

#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/fft_tiled/tile_choice.hpp"
#include "primitives/cpu/grad/turned.hpp"
#include "tests/primitives/cpu/grad/tiling_plans.hpp"

namespace znni::cpu::fft_tiled {
namespace {

TEST(BothPlans, OfferWholeAndSmallBatchesOfTheTurnedConvolution) {
  const DeviceSpec spec = describe_cpu(2);
  const ConvProblem conv = planned_conv(96, 5);
  const TileKernels& kernels = *tile_kernels(4);
  const std::vector<Tiling> found = both_tilings(conv, kernels, spec);
  expect_whole_and_small_batches(
      found, [&](const Tiling& t) { return both_seconds(t, spec); },
      [&](const Tiling& t) { return peak(both_memory(conv, t, kernels, 2, {}, {})); });
  EXPECT_EQ(found.front().problem.in.f, 64);
  EXPECT_EQ(found.front().n_out(), conv.in.n);
}

TEST(BothPlans, OneTileAsLongAsTheInputIsEnough) {
  const ConvProblem conv = planned_conv(16, 3);
  const Tiling tiling = both_tiling(conv, *tile_kernels(4), {{"tile_z", 16}, {"tile_y", 14}, {"tile_x", 18}});
  EXPECT_EQ(tiling.m(), (Vec3{16, 12, 16}));
  EXPECT_EQ(tiling.tiles(), (Vec3{1, 2, 1}));
  EXPECT_EQ(tiling.planes(), 16);
  EXPECT_EQ(extents_along(tiling.problem, 0, true).front(), 16);
  EXPECT_EQ(extents_along(tiling.problem, 0).front(), 18);
}

TEST(BothPlans, VariantsGiveTheTilingBack) {
  const ConvProblem conv = planned_conv(48, 3);
  expect_given_back(both_tilings(conv, *tile_kernels(4), describe_cpu(1)),
                    [&](const Variant& variant) { return both_tiling(conv, *tile_kernels(4), variant); });
}

TEST(BothPlans, TakeLongerThanTheGradientOfTheKernelsAlone) {
  const DeviceSpec spec = describe_cpu(1);
  const Tiling tiling{turned_problem(planned_conv(48, 5)), 8, Vec3::cube(16), 4};
  EXPECT_GT(both_seconds(tiling, spec), weights_seconds(tiling, spec));
  EXPECT_LT(both_seconds(tiling, spec), 3 * weights_seconds(tiling, spec));
}

TEST(BothPlans, WorkersHaveScratchForEachOfTheirTasks) {
  const ConvProblem conv = planned_conv(48, 3);
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
