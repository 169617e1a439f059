#include "primitives/cpu/fft_tiled/tile_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/tile_model.hpp"
#include "tests/primitives/cpu/fft_tiled/kernel_shapes.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

DeviceSpec machine(int simd_floats = 16) {
  DeviceSpec spec;
  spec.threads = 2;
  spec.simd_floats = simd_floats;
  spec.flops_per_second = 2e11;
  spec.bytes_per_second = 3e10;
  return spec;
}

ConvProblem layer(std::int64_t f, std::int64_t f_out, Vec3 n, Vec3 k) {
  ConvProblem problem;
  problem.in = {1, f, n};
  problem.f_out = f_out;
  problem.k = k;
  return problem;
}

std::vector<TilePlan> plans_of(const ConvProblem& problem, int simd_floats = 16) {
  return tile_plans(problem, kernel_shapes(simd_floats), machine(simd_floats));
}

class RandomOffers : public testing::Test {
 protected:
  // Calls check(problem, plans, lanes) for random problems.
  template <class Check>
  static void each(const Check& check) {
    for (int index = 0; index < test::case_count(25); ++index) {
      const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(index);
      test::Random random(seed);
      ConvProblem problem = layer(random.integer(1, 100), random.integer(1, 100), {}, random.vec3(1, 9));
      problem.in.n = problem.k + random.vec3(0, 120);
      problem.in.S = random.integer(1, 5);
      if (random.chance(0.2)) problem.k.z = 1;
      const int lanes = random.chance(0.5) ? 16 : 8;
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_string(LayerProblem(problem)));
      check(problem, plans_of(problem, lanes), lanes);
    }
  }
};

TEST_F(RandomOffers, AreAFewByRisingTime) {
  each([](const ConvProblem&, const std::vector<TilePlan>& plans, int lanes) {
    EXPECT_GE(plans.size(), 1U);
    EXPECT_LE(plans.size(), 8U);
    EXPECT_TRUE(std::is_sorted(plans.begin(), plans.end(), [&](const TilePlan& a, const TilePlan& b) {
      return tile_seconds(a, machine(lanes)) < tile_seconds(b, machine(lanes));
    }));
  });
}

TEST_F(RandomOffers, AreLegalTilings) {
  const std::set<std::int64_t> extents(tile_extents().begin(), tile_extents().end());
  each([&](const ConvProblem& problem, const std::vector<TilePlan>& plans, int lanes) {
    for (const TilePlan& plan : plans) {
      EXPECT_EQ(plan.tiling.problem, plan.own_batches ? phase_problem(problem, planes_of(problem)) : problem);
      EXPECT_EQ(plan.tiling.lanes, lanes);
      EXPECT_TRUE(covers(plan.tiling.m(), Vec3::cube(1))) << to_string(plan.tiling.T);
      EXPECT_TRUE(extents.contains(plan.tiling.T.z) || problem.k.z == 1) << to_string(plan.tiling.T);
      EXPECT_TRUE(extents.contains(plan.tiling.T.y) && extents.contains(plan.tiling.T.x)) << to_string(plan.tiling.T);
      EXPECT_GE(plan.tiling.stacks_per_batch, 1);
      EXPECT_LE(plan.tiling.stacks_per_batch, plan.tiling.stacks());
      EXPECT_GE(plan.slots, 1);
      EXPECT_LE(plan.slots, plan.tiling.batches());
    }
  });
}

TEST_F(RandomOffers, SurviveTheWayThroughSettings) {
  each([](const ConvProblem& problem, const std::vector<TilePlan>& plans, int lanes) {
    std::set<Variant> variants;
    for (TilePlan plan : plans) {
      if (variants.size() % 2 == 1) plan.products = plan.products == Products::three ? Products::four : Products::three;
      const TilePlan back = tile_plan(problem, kernel_shapes(lanes), variant_of(plan));
      EXPECT_EQ(back.products, plan.products);
      EXPECT_EQ(back.tiling.problem, plan.tiling.problem);
      EXPECT_EQ(back.own_batches, plan.own_batches);
      EXPECT_EQ(back.tiling.lanes, plan.tiling.lanes);
      EXPECT_EQ(back.tiling.T, plan.tiling.T);
      EXPECT_EQ(back.tiling.stacks_per_batch, plan.tiling.stacks_per_batch);
      EXPECT_EQ(back.slots, plan.slots);
      EXPECT_EQ(back.keep_spectra, plan.keep_spectra);
      EXPECT_EQ(back.tiling.packs, plan.tiling.packs);
      variants.insert(variant_of(plan));
    }
    EXPECT_EQ(variants.size(), plans.size()) << "two offers are the same";
  });
}

TEST_F(RandomOffers, NoneIsBeatenInEverything) {
  each([](const ConvProblem& problem, const std::vector<TilePlan>& plans, int lanes) {
    std::vector<Estimate> estimates;
    for (const TilePlan& plan : plans) {
      estimates.push_back(estimate_of(problem, plan, kernel_shapes(lanes), machine(lanes), {}, {}));
    }
    for (const Estimate& a : estimates) {
      for (const Estimate& b : estimates) {
        const bool beaten = b.time <= a.time && persistent_bytes(b.memory) <= persistent_bytes(a.memory) &&
                            peak(b.memory) <= peak(a.memory);
        EXPECT_TRUE(&a == &b || !beaten) << to_string(a.variant) << " is beaten by " << to_string(b.variant);
      }
    }
  });
}

TEST(TilePlans, ThereAreNoneForKernelsLongerThanATile) {
  const std::int64_t longest = tile_extents().back();
  EXPECT_FALSE(plans_of(layer(4, 4, Vec3::cube(50), Vec3::cube(longest))).empty());
  for (int axis = 0; axis < 3; ++axis) {
    Vec3 k = Vec3::cube(3);
    k[axis] = longest + 1;
    EXPECT_TRUE(plans_of(layer(4, 4, Vec3::cube(50), k)).empty()) << "axis " << axis;
  }
}

TEST_F(RandomOffers, MultiplyInTheCheaperForm) {
  each([](const ConvProblem&, const std::vector<TilePlan>& plans, int) {
    for (const TilePlan& plan : plans) EXPECT_EQ(plan.products, cheaper_products(plan.tiling.tiles_per_batch()));
  });
}

TEST(TilePlans, LeaveZAloneWhereTheKernelHasOneTap) {
  for (const TilePlan& plan : plans_of(layer(16, 16, {40, 60, 60}, {1, 5, 5}))) EXPECT_EQ(plan.tiling.T.z, 1);
}

// Units are packed where channels leave a block half empty and stacks fill groups; elsewhere plans are as ever.
TEST(TilePlans, PackUnitsWhereThatSavesLanes) {
  const auto packed = [](std::int64_t f, std::int64_t f_out, std::int64_t n, int simd_floats = 16) {
    const std::vector<TilePlan> plans = plans_of(layer(f, f_out, Vec3::cube(n), Vec3::cube(3)), simd_floats);
    return std::count_if(plans.begin(), plans.end(), [](const TilePlan& plan) { return plan.tiling.packs; });
  };
  EXPECT_GT(packed(36, 36, 98), 0);
  EXPECT_GT(packed(28, 32, 98), 0);
  EXPECT_GT(packed(1, 16, 98), 0);
  EXPECT_EQ(packed(32, 48, 98), 0);
  EXPECT_EQ(packed(30, 46, 98), 0) << "fewer than four lanes are empty";
  EXPECT_EQ(packed(36, 36, 98, 8), 0);
  EXPECT_EQ(packed(36, 36, 6), 0) << "one stack";
}

// Returns the bytes of the plan that needs the least.
std::int64_t min_bytes(const std::vector<TilePlan>& plans, const TileKernels& kernels) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const TilePlan& plan : plans) {
    const TileByteModel model(plan.tiling, kernels, machine().threads);
    const std::int64_t held = plan.held(machine().threads);
    const TileBytes bytes = model.bytes(plan.tiling.stacks_per_batch, held, plan.products, plan.keep_spectra);
    least = std::min(least, bytes.persistent + bytes.scratch);
  }
  return least;
}

// Groups of stacks may hold more than single stacks: channels that may be packed are offered in blocks, too.
TEST(TilePlans, OfferToHoldAsLittleAsWithoutPacking) {
  const TileKernels packing = kernel_shapes(16);
  TileKernels plain = packing;
  plain.packs = false;
  for (const auto& [f, n] : {std::pair{28, 400}, std::pair{36, 98}, std::pair{20, 200}, std::pair{4, 60}}) {
    const ConvProblem problem = layer(f, f, Vec3::cube(n), Vec3::cube(3));
    const std::vector<TilePlan> plans = tile_plans(problem, packing, machine());
    const std::vector<TilePlan> unpacked = tile_plans(problem, plain, machine());
    EXPECT_TRUE(std::any_of(plans.begin(), plans.end(), [](const TilePlan& plan) { return plan.tiling.packs; })) << f;
    EXPECT_LE(min_bytes(plans, packing), min_bytes(unpacked, plain)) << f << " channels of " << n;
  }
}

TEST_F(RandomOffers, PackOnlyForThreeProductsAndWholeGroups) {
  each([](const ConvProblem&, const std::vector<TilePlan>& plans, int) {
    for (const TilePlan& plan : plans) {
      const Tiling& t = plan.tiling;
      if (!t.packs) continue;
      EXPECT_EQ(plan.products, Products::three);
      EXPECT_TRUE(t.stacks_per_batch % t.group() == 0 || t.batches() == 1);
    }
  });
}

TEST(TilePlans, OfferToHoldLessWithoutKeptSpectra) {
  const std::vector<TilePlan> plans = plans_of(layer(80, 80, Vec3::cube(52), Vec3::cube(5)));
  EXPECT_TRUE(plans.front().keep_spectra);
  EXPECT_TRUE(std::any_of(plans.begin(), plans.end(), [](const TilePlan& plan) { return !plan.keep_spectra; }));
}

TEST(TileFormats, ArePlanarOnlyForFewerChannelsThanLanes) {
  const Format blocked{ElementType::f32, Layout::blocked16};
  using Formats = std::vector<std::pair<Format, Format>>;
  const auto formats = [](std::int64_t f, std::int64_t f_out) {
    return tile_formats(layer(f, f_out, Vec3::cube(9), Vec3::cube(3)), machine());
  };
  EXPECT_EQ(formats(16, 80), (Formats{{blocked, blocked}}));
  EXPECT_EQ(formats(1, 80), (Formats{{blocked, blocked}, {Format{}, blocked}}));
  EXPECT_EQ(formats(80, 15), (Formats{{blocked, blocked}, {blocked, Format{}}}));
  EXPECT_EQ(formats(3, 3).size(), 4U);
  const Format blocked8{ElementType::f32, Layout::blocked8};
  EXPECT_EQ(tile_formats(layer(8, 15, Vec3::cube(9), Vec3::cube(3)), machine(8)), (Formats{{blocked8, blocked8}}));
}

TEST(EstimateOf, NamesTheFormatsItIsFor) {
  const ConvProblem problem = layer(3, 80, Vec3::cube(20), Vec3::cube(3));
  const TilePlan plan = plans_of(problem).front();
  const Format blocked{ElementType::f32, Layout::blocked16};
  const Estimate estimate = estimate_of(problem, plan, kernel_shapes(16), machine(), {}, blocked);
  EXPECT_EQ(estimate.in, Format{});
  EXPECT_EQ(estimate.out, blocked);
  EXPECT_EQ(estimate.variant, variant_of(plan));
  EXPECT_EQ(estimate.memory, tile_memory(problem, plan, kernel_shapes(16), 2, {}, blocked));
  EXPECT_EQ(estimate.memory.front().bytes, 4 * 3 * 8000);
}

// Errors spread over all voxels of a tile that lie within the input.
TEST(EstimateOf, SpreadsErrorsOverATileWithinTheInput) {
  const ConvProblem problem = layer(20, 80, {10, 40, 50}, {1, 3, 4});
  TilePlan plan = plans_of(problem).front();
  plan.tiling.T = {1, 16, 60};
  const Estimate estimate = estimate_of(problem, plan, kernel_shapes(16), machine(), {}, {});
  EXPECT_EQ(estimate.spread, (Vec3{0, 16 - 3, 50 - 4}));
}

// A tile of a phase reads voxels that lie apart; input and output are those of all phases.
TEST(EstimateOf, CountsAllPhasesOfADilatedConvolution) {
  ConvProblem problem = layer(20, 80, {10, 40, 50}, {1, 3, 3});
  problem.dilation = {7, 2, 8};
  TilePlan plan = plans_of(problem).front();
  plan.tiling.T = {1, 16, 6};
  const Format blocked{ElementType::f32, Layout::blocked16};
  const Estimate estimate = estimate_of(problem, plan, kernel_shapes(16), machine(), blocked, blocked);
  EXPECT_EQ(estimate.spread, (Vec3{0, 2 * (16 - 3), 8 * (6 - 3)}));
  EXPECT_EQ(estimate.memory[0].bytes, 4 * 32 * 10 * 40 * 50);
  EXPECT_EQ(estimate.memory[1].bytes, 4 * 80 * 10 * 36 * 34);
}

// Every worker has batches, all of which fit half of its cache.
TEST(TilePlans, OfferOwnBatchesWhereTheKernelHasOneTapAlongZ) {
  const ConvProblem problem = layer(28, 28, {18, 98, 98}, {1, 3, 3});
  const std::vector<TilePlan> plans = plans_of(problem);
  EXPECT_TRUE(std::any_of(plans.begin(), plans.end(), [](const TilePlan& plan) { return plan.own_batches; }));
  for (const TilePlan& plan : plans) {
    if (!plan.own_batches) continue;
    const Tiling& t = plan.tiling;
    EXPECT_EQ(t.problem.in, (Shape5{18, 28, {1, 98, 98}}));
    EXPECT_GE(t.batches(), machine().threads);
    EXPECT_LE(float_bytes(t.columns() * t.stacks_per_batch * t.stack_step()), machine().l2_bytes / 2);
  }
  for (const TilePlan& plan : plans_of(layer(28, 28, {18, 98, 98}, {3, 3, 3}))) EXPECT_FALSE(plan.own_batches);
}

// Phases are inputs of an undilated convolution: plans are those for so many inputs.
TEST(TilePlans, ServeAllPhasesOfADilatedConvolution) {
  ConvProblem problem = layer(21, 21, {34, 35, 36}, {3, 3, 3});
  problem.dilation = {2, 1, 4};
  ConvProblem phases = layer(21, 21, {17, 35, 9}, {3, 3, 3});
  phases.in.S = 8;
  const std::vector<TilePlan> plans = plans_of(problem);
  const std::vector<TilePlan> expected = plans_of(phases);
  ASSERT_EQ(plans.size(), expected.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(plans[i].tiling.problem, phases);
    EXPECT_EQ(plans[i].tiling.stacks(), expected[i].tiling.stacks());
    EXPECT_EQ(variant_of(plans[i]), variant_of(expected[i]));
    EXPECT_EQ(tile_seconds(plans[i], machine()), tile_seconds(expected[i], machine()));
    EXPECT_EQ(tile_plan(problem, kernel_shapes(16), variant_of(plans[i])).tiling.phases.count, (Vec3{2, 1, 4}));
  }
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
