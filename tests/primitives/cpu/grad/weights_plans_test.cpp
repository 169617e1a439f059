#include "primitives/cpu/grad/weights_plans.hpp"

#include <gtest/gtest.h>

#include "primitives/cpu/backend.hpp"

namespace znni::cpu::fft_tiled {
namespace {

ConvProblem weights_conv_of(std::int64_t n, std::int64_t k) {
  return {{1, 80, Vec3::cube(n)}, 64, Vec3::cube(k), Vec3::cube(1), Vec3::cube(1), {}};
}

TEST(WeightsPlans, OfferWholeAndSmallBatches) {
  const DeviceSpec spec = describe_cpu(2);
  const std::vector<Tiling> found = weights_tilings(weights_conv_of(96, 5), *tile_kernels(4), spec);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].batches(), 1);
  EXPECT_GT(found[2].batches(), 1);
  EXPECT_LE(weights_seconds(found[0], spec), weights_seconds(found[1], spec));
  const auto bytes = [&](const Tiling& t) { return peak(weights_memory(t, 2, {})); };
  EXPECT_LT(bytes(found[2]), bytes(found[0]));
}

TEST(WeightsPlans, VariantsGiveTheTilingBack) {
  const ConvProblem conv = weights_conv_of(48, 3);
  for (const Tiling& tiling : weights_tilings(conv, *tile_kernels(4), describe_cpu(1))) {
    const Tiling again = weights_tiling(conv, *tile_kernels(4), variant_of(tiling));
    EXPECT_EQ(again.T, tiling.T);
    EXPECT_EQ(again.stacks_per_batch, tiling.stacks_per_batch);
    EXPECT_EQ(again.lanes, tiling.lanes);
  }
}

TEST(WeightsPlans, TakeLongerForMoreWork) {
  const DeviceSpec spec = describe_cpu(1);
  const auto seconds = [&](std::int64_t n, std::int64_t k) {
    return weights_seconds(weights_tilings(weights_conv_of(n, k), *tile_kernels(4), spec).front(), spec);
  };
  EXPECT_GT(seconds(96, 3), 4 * seconds(48, 3));
  EXPECT_GT(seconds(48, 9), seconds(48, 3));
}

TEST(WeightsPlans, ChannelsAreSwappedForTheOutput) {
  const Tiling tiling{weights_conv_of(48, 3), 8, Vec3::cube(16), 3};
  const Tiling of_output = tiling_of_output(tiling);
  EXPECT_EQ(of_output.in_blocks(), tiling.out_blocks());
  EXPECT_EQ(of_output.column_step(), tiling.column_step());
  EXPECT_EQ(of_output.stacks(), tiling.stacks());
}

TEST(WeightsPlans, WorkersHaveScratchOfTheirOwn) {
  const Tiling tiling{weights_conv_of(48, 3), 8, Vec3::cube(16), 3};
  const auto scratch = [&](int workers) { return weights_memory(tiling, workers, {}).back().bytes; };
  EXPECT_EQ(scratch(3), 3 * scratch(1));
  EXPECT_EQ(scratch(1), 4 * weights_worker_floats(tiling));
  EXPECT_EQ(weights_worker_floats(tiling) % 16, 0);
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
