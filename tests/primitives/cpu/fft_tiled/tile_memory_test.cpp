#include "primitives/cpu/fft_tiled/tile_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/primitives/cpu/fft_tiled/kernel_shapes.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

constexpr Format blocked{ElementType::f32, Layout::blocked16};
constexpr int workers = 3;

// Returns a plan of 3 channels of 8^3 to 20 channels; 3 x 3 x 3 tiles of 4^3, of which 2^3 are valid; two stacks at a
// time.
TilePlan small_plan() {
  TilePlan plan;
  plan.tiling.problem.in = {1, 3, Vec3::cube(8)};
  plan.tiling.problem.f_out = 20;
  plan.tiling.problem.k = Vec3::cube(3);
  plan.tiling.T = Vec3::cube(4);
  plan.tiling.stacks_per_batch = 2;
  plan.slots = 2;
  return plan;
}

MemoryPlan memory_of(const TilePlan& plan) {
  return tile_memory(plan.tiling.problem, plan, kernel_shapes(16), workers, blocked, blocked);
}

Buffer buffer(const MemoryPlan& memory, std::string_view name) {
  EXPECT_EQ(std::count_if(memory.begin(), memory.end(), [&](const Buffer& b) { return b.name == name; }), 1) << name;
  return *std::find_if(memory.begin(), memory.end(), [&](const Buffer& b) { return b.name == name; });
}

TEST(TileMemory, OfASmallLayerByHand) {
  const MemoryPlan memory = memory_of(small_plan());
  EXPECT_EQ(memory.size(), 6U);
  EXPECT_EQ(buffer(memory, input_name(0)).bytes, 4 * 16 * 512);
  EXPECT_EQ(buffer(memory, output_name).bytes, 4 * 32 * 216);
  EXPECT_EQ(buffer(memory, bias_name).bytes, 4 * 32);
  // 10 columns: three each of kx = 0 and 2, four of kx = 1. Each has 4 kz x 3 channels x 2 blocks x (re, im) x 16.
  EXPECT_EQ(buffer(memory, kernel_spectra_name).bytes, 4 * 10 * 4 * 3 * 2 * 32);
  // 8 planes of 2 stacks of 2 blocks, one block between the columns.
  EXPECT_EQ(buffer(memory, tile_spectra_name).bytes, 4 * 2 * 10 * (8 * 2 * 2 + 1) * 32);
  // A column needs most: 4 kz x 7 rows x 2 blocks, 3 planes of 3 x 2 kernels, 3 times 8 rows of a block.
  EXPECT_EQ(buffer(memory, worker_scratch_name).bytes, 4 * workers * (4 * 7 * 64 + 3 * 6 * 16 + 3 * 8 * 16));
}

TEST(TileMemory, OnlySpectraThatAreKeptAndBiasesOutliveARun) {
  TilePlan plan = small_plan();
  const MemoryPlan kept = memory_of(plan);
  plan.keep_spectra = false;
  const MemoryPlan computed = memory_of(plan);
  const std::int64_t spectra = buffer(kept, kernel_spectra_name).bytes;
  const std::int64_t bias = buffer(kept, bias_name).bytes;
  EXPECT_EQ(persistent_bytes(kept), spectra + bias);
  EXPECT_EQ(persistent_bytes(computed), bias);
  EXPECT_TRUE(buffer(kept, kernel_spectra_name).lifetime.persistent);
  EXPECT_FALSE(buffer(computed, kernel_spectra_name).lifetime.persistent);
  const std::int64_t scratch = buffer(computed, worker_scratch_name).bytes - buffer(kept, worker_scratch_name).bytes;
  EXPECT_EQ(peak(computed), peak(kept) + spectra + scratch);
}

TEST(TileMemory, EverythingIsHeldTogether) {
  const MemoryPlan memory = memory_of(small_plan());
  EXPECT_EQ(stage_count(memory), 1);
  std::int64_t sum = 0;
  for (const Buffer& b : memory) sum += b.bytes;
  EXPECT_EQ(peak(memory) + persistent_bytes(memory), sum);
}

TEST(TileMemory, SlotsHoldTileSpectraEach) {
  TilePlan plan = small_plan();
  const std::int64_t two = buffer(memory_of(plan), tile_spectra_name).bytes;
  plan.slots = 1;
  EXPECT_EQ(two, 2 * buffer(memory_of(plan), tile_spectra_name).bytes);
}

TEST(TileMemory, OwnBatchesAreHeldByEveryWorker) {
  TilePlan plan = small_plan();
  plan.slots = 1;
  const std::int64_t one = buffer(memory_of(plan), tile_spectra_name).bytes;
  plan.own_batches = true;
  EXPECT_EQ(buffer(memory_of(plan), tile_spectra_name).bytes, workers * one);
}

// One worker's scratch is large enough for every task that it may run, and starts at a cache line.
TEST(TileMemory, ScratchTakesEveryTask) {
  for (int index = 0; index < test::case_count(300); ++index) {
    const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    TilePlan plan = small_plan();
    Tiling& t = plan.tiling;
    t.T = {2 * random.integer(4, 16), 2 * random.integer(4, 16), 2 * random.integer(4, 16)};
    t.problem.k = random.vec3(1, 8);
    t.problem.in = {random.integer(1, 3), random.integer(1, 200), t.problem.k + random.vec3(0, 60)};
    t.problem.f_out = random.integer(1, 200);
    t.stacks_per_batch = random.integer(1, t.stacks());
    plan.keep_spectra = random.chance(0.5);
    plan.products = random.chance(0.5) ? Products::three : Products::four;
    const int simd_floats = random.chance(0.5) ? 16 : 8;
    t.lanes = simd_floats;
    t.packs = simd_floats == 16 && plan.products == Products::three && random.chance(0.5);
    const TileKernels kernels = kernel_shapes(simd_floats);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_string(LayerProblem(t.problem)));
    const std::int64_t bytes = buffer(tile_memory(t.problem, plan, kernels, 7, {}, {}), worker_scratch_name).bytes;
    ASSERT_EQ(bytes % (7 * buffer_alignment), 0);
    const std::int64_t floats = bytes / 7 / 4;
    EXPECT_GE(floats, forward_scratch(t));
    EXPECT_GE(floats, inverse_scratch(t));
    EXPECT_GE(floats, column_scratch(t, kernels, plan.products));
    if (!plan.keep_spectra) {
      EXPECT_GE(floats, spectra_scratch(t));
    }
  }
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
