// Properties of the modelled times on which a planner relies; benchmarks check how close they are to measured times.
#include "primitives/cpu/fft_tiled/tile_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "primitives/cpu/device/estimates.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

DeviceSpec machine(int threads) {
  DeviceSpec spec;
  spec.threads = threads;
  spec.simd_floats = 16;
  spec.flops_per_second = 1e11 * threads;
  spec.bytes_per_second = 2e10 * std::min(threads, 8);
  return spec;
}

TilePlan plan_of(std::int64_t S, std::int64_t f, std::int64_t f_out, std::int64_t n) {
  TilePlan plan;
  plan.tiling.problem.in = {S, f, Vec3::cube(n)};
  plan.tiling.problem.f_out = f_out;
  plan.tiling.problem.k = Vec3::cube(5);
  plan.tiling.T = Vec3::cube(16);
  plan.tiling.stacks_per_batch = 4;
  return plan;
}

Seconds seconds(const TilePlan& plan, int threads = 2) { return tile_seconds(plan, machine(threads)); }

TEST(TileModel, IsPositiveAndFiniteForAnything) {
  for (int index = 0; index < test::case_count(300); ++index) {
    const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    TilePlan plan;
    plan.tiling.problem = test::random_conv(random);
    plan.tiling.T = {random.chance(0.5) ? 8 : 36, 8, random.chance(0.5) ? 8 : 30};
    if (plan.tiling.problem.k.z == 1) plan.tiling.T.z = 1;
    plan.tiling.stacks_per_batch = random.integer(1, plan.tiling.stacks());
    plan.keep_spectra = random.chance(0.5);
    for (const int threads : {1, 2, 72}) {
      for (const int lanes : {8, 16}) {
        plan.tiling.lanes = lanes;
        const Seconds time = tile_seconds(plan, machine(threads));
        EXPECT_GT(time, 0) << "seed " << seed;
        EXPECT_TRUE(std::isfinite(time)) << "seed " << seed;
      }
    }
  }
}

TEST(TileModel, GrowsWithInputsChannelsAndExtent) {
  const Seconds base = seconds(plan_of(1, 32, 32, 52));
  EXPECT_GT(seconds(plan_of(2, 32, 32, 52)), 1.5 * base);
  EXPECT_GT(seconds(plan_of(1, 64, 32, 52)), 1.2 * base);
  EXPECT_GT(seconds(plan_of(1, 32, 64, 52)), 1.2 * base);
  EXPECT_GT(seconds(plan_of(1, 32, 32, 100)), 5 * base);
}

// A residual costs at most the time to read it from memory.
TEST(TileModel, AResidualCostsItsReading) {
  const TilePlan plan = plan_of(1, 80, 80, 100);
  TilePlan fused = plan;
  fused.tiling.problem.residual = true;
  const Seconds reading = 4.0 * 80 * 96 * 96 * 96 / machine(2).bytes_per_second;
  EXPECT_GT(seconds(fused), seconds(plan));
  EXPECT_LE(seconds(fused), seconds(plan) + 1.001 * reading);
}

TEST(TileModel, FallsWithThreads) {
  EXPECT_LT(seconds(plan_of(1, 80, 80, 100), 4), 0.6 * seconds(plan_of(1, 80, 80, 100), 2));
}

TEST(TileModel, ComputingKernelSpectraInEveryRunCosts) {
  TilePlan plan = plan_of(1, 80, 80, 52);
  const Seconds kept = seconds(plan);
  plan.keep_spectra = false;
  EXPECT_GT(seconds(plan), kept);
}

// Packed products have whole units of channels and whole groups of stacks.
TEST(TileModel, CountsWhatPadsPackedProducts) {
  const auto packed = [](std::int64_t f, std::int64_t stacks) {
    TilePlan plan = plan_of(stacks, f, 4, 16);  // one tile of each input
    plan.tiling.packs = true;
    plan.tiling.stacks_per_batch = stacks;
    DeviceSpec spec = machine(2);
    spec.bytes_per_second = 1e18;  // arithmetic alone
    return tile_seconds(plan, spec);
  };
  EXPECT_NEAR(packed(1, 32) / packed(4, 32), 1, 1e-6) << "one unit";
  EXPECT_GT(packed(5, 32) / packed(4, 32), 1.2) << "two units";
  EXPECT_NEAR(packed(4, 29) / packed(4, 32), 1, 1e-6) << "eight groups";
}

// A tile with almost no valid voxels wastes its arithmetic; one longer than the input computes zeros.
TEST(TileModel, PrefersTilesThatFit) {
  const auto with_tile = [](std::int64_t edge) {
    TilePlan plan = plan_of(1, 80, 80, 28);
    plan.tiling.T = Vec3::cube(edge);
    return seconds(plan);
  };
  EXPECT_LT(with_tile(16), with_tile(6));
  EXPECT_LT(with_tile(16), with_tile(26));
}

// A single tile gains nothing from prepared kernels; many tiles share the cost of preparing them.
TEST(TileModel, ThreeProductsNeedTilesToShareTheirKernels) {
  TilePlan plan = plan_of(1, 80, 80, 14);
  plan.tiling.stacks_per_batch = 1;
  EXPECT_EQ(cheaper_products(plan.tiling.tiles_per_batch()), Products::four);
  plan.tiling.stacks_per_batch = 64;
  EXPECT_EQ(cheaper_products(plan.tiling.tiles_per_batch()), Products::three);
  const Seconds three = seconds(plan);
  plan.products = Products::four;
  EXPECT_GT(seconds(plan), three);
}

TEST(TileModel, CountsAnExponentialForWholeBlocks) {
  TilePlan plan = plan_of(3, 80, 2, 40);
  plan.tiling.problem.activation.kind = ActivationKind::leaky_relu;
  const Seconds fast = seconds(plan);
  plan.tiling.problem.activation.kind = ActivationKind::tanh;
  const DeviceSpec spec = machine(2);
  const double each = activation_flops(plan.tiling.problem.activation, spec) / spec.flops_per_second;
  const double added = 3.0 * static_cast<double>(plan.tiling.lanes) * 36 * 36 * 36 * each;
  EXPECT_LE(seconds(plan) - fast, 1.001 * added);
  EXPECT_GE(seconds(plan) - fast, 0.299 * added) << "where memory takes longer, three tenths";
}

// Spectra that stay in the caches are not moved, but a worker without a batch waits.
TEST(TileModel, OwnBatchesAreFasterIfEveryWorkerHasOne) {
  TilePlan plan = plan_of(40, 28, 28, 100);
  plan.tiling.problem.in.n.z = plan.tiling.problem.k.z = plan.tiling.T.z = 1;
  plan.tiling.stacks_per_batch = 24;
  const Seconds shared = seconds(plan);
  plan.own_batches = true;
  EXPECT_LT(seconds(plan), shared);
  plan.tiling.stacks_per_batch = plan.tiling.stacks();
  EXPECT_GT(seconds(plan), shared);
}

// Batches of one stack pass over the kernel spectra for every stack.
TEST(TileModel, ManyStacksShareTheKernelSpectra) {
  TilePlan plan = plan_of(1, 80, 80, 100);
  plan.tiling.problem.in.n.z = 16;
  const Seconds shared = seconds(plan);
  plan.tiling.stacks_per_batch = 1;
  EXPECT_GT(seconds(plan), shared);
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
