#include "primitives/cpu/grad/weights_plans.hpp"

#include <gtest/gtest.h>

#include "primitives/cpu/backend.hpp"
#include "tests/primitives/cpu/grad/tiling_plans.hpp"

namespace znni::cpu::fft_tiled {
namespace {

TEST(WeightsPlans, OfferWholeAndSmallBatches) {
  const DeviceSpec spec = describe_cpu(2);
  const ConvProblem conv = planned_conv(96, 5);
  expect_whole_and_small_batches(
      weights_tilings(conv, *tile_kernels(4), spec), [&](const Tiling& t) { return weights_seconds(t, spec); },
      [&](const Tiling& t) { return peak(weights_memory(conv, t, 2, {})); });
}

TEST(WeightsPlans, VariantsGiveTheTilingBack) {
  const ConvProblem conv = planned_conv(48, 3);
  expect_given_back(weights_tilings(conv, *tile_kernels(4), describe_cpu(1)),
                    [&](const Variant& variant) { return weights_tiling(conv, *tile_kernels(4), variant); });
}

TEST(WeightsPlans, PhasesOfADilatedConvolutionHaveTilesOfTheirOwn) {
  ConvProblem conv = planned_conv(48, 3);
  conv.dilation = {1, 2, 3};
  const Tiling tiling = weights_tilings(conv, *tile_kernels(4), describe_cpu(1)).front();
  EXPECT_EQ(tiling.problem.in.n, (Vec3{48, 24, 16}));
  EXPECT_EQ(tiling.stacks(), 6 * tiling.tiles().y * tiling.tiles().x);
  EXPECT_EQ(weights_memory(conv, tiling, 1, {}).front().bytes, tensor_bytes(output_shape(conv), {}));
}

TEST(WeightsPlans, TakeLongerForMoreWork) {
  const DeviceSpec spec = describe_cpu(1);
  const auto seconds = [&](std::int64_t n, std::int64_t k) {
    return weights_seconds(weights_tilings(planned_conv(n, k), *tile_kernels(4), spec).front(), spec);
  };
  EXPECT_GT(seconds(96, 3), 4 * seconds(48, 3));
  EXPECT_GT(seconds(48, 9), seconds(48, 3));
}

TEST(WeightsPlans, ChannelsAreSwappedForTheOutput) {
  const Tiling tiling{planned_conv(48, 3), 8, Vec3::cube(16), 3};
  const Tiling of_output = tiling_of_output(tiling);
  EXPECT_EQ(of_output.in_blocks(), tiling.out_blocks());
  EXPECT_EQ(of_output.column_step(), tiling.column_step());
  EXPECT_EQ(of_output.stacks(), tiling.stacks());
}

TEST(WeightsPlans, WorkersHaveScratchOfTheirOwn) {
  const ConvProblem conv = planned_conv(48, 3);
  const Tiling tiling{conv, 8, Vec3::cube(16), 3};
  const auto scratch = [&](int workers) { return weights_memory(conv, tiling, workers, {}).back().bytes; };
  EXPECT_EQ(scratch(3), 3 * scratch(1));
  EXPECT_EQ(scratch(1), 4 * weights_worker_floats(tiling));
  EXPECT_EQ(weights_worker_floats(tiling) % 16, 0);
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
