#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

Tiling tiling_of(std::int64_t f, std::int64_t f_out, std::int64_t lanes) {
  Tiling t;
  t.problem.in = {1, f, Vec3::cube(8)};
  t.problem.f_out = f_out;
  t.problem.k = Vec3::cube(3);
  t.lanes = lanes;
  t.T = {4, 6, 8};
  return t;
}

TEST(BlockGroup, PartitionsTheBlocksAsEquallyAsCanBe) {
  for (std::int64_t blocks = 1; blocks <= 40; ++blocks) {
    for (const std::int64_t most : {1, 2, 3}) {
      std::int64_t next = 0;
      std::int64_t shortest = most;
      std::int64_t longest = 0;
      for (std::int64_t g = 0; g < group_count(blocks, most); ++g) {
        const BlockGroup group = block_group(blocks, most, g);
        EXPECT_EQ(group.first, next) << blocks << " by " << most;
        next += group.blocks;
        shortest = std::min(shortest, group.blocks);
        longest = std::max(longest, group.blocks);
      }
      EXPECT_EQ(next, blocks) << "by " << most;
      EXPECT_GE(shortest, 1) << blocks << " by " << most;
      EXPECT_LE(longest, most) << blocks;
      EXPECT_LE(longest - shortest, 1) << blocks << " by " << most;
    }
  }
}

TEST(BlockIndex, IsABijectionOntoThePairsOfAFrequency) {
  test::Random random(test::base_seed());
  for (int index = 0; index < 100; ++index) {
    const Tiling t = tiling_of(random.integer(1, 40), random.integer(1, 200), random.chance(0.5) ? 16 : 8);
    const std::int64_t most = random.integer(1, 3);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(test::base_seed()) + ", case " + std::to_string(index));
    std::vector<int> taken(static_cast<std::size_t>(t.problem.in.f * t.out_blocks()));
    for (std::int64_t block = 0; block < t.out_blocks(); ++block) {
      for (std::int64_t channel = 0; channel < t.problem.in.f; ++channel) {
        const std::int64_t at = block_index(t, block, most, channel);
        ASSERT_GE(at, 0);
        ASSERT_LT(at, static_cast<std::int64_t>(taken.size()));
        ++taken[static_cast<std::size_t>(at)];
      }
    }
    EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), static_cast<std::ptrdiff_t>(taken.size()));
  }
}

// Five blocks in groups of three and two: [group][channel][block in group].
TEST(BlockIndex, FollowsTheGroups) {
  const Tiling t = tiling_of(2, 80, 16);
  const std::int64_t expected[2][5] = {{0, 1, 2, 6, 7}, {3, 4, 5, 8, 9}};
  for (std::int64_t channel = 0; channel < 2; ++channel) {
    for (std::int64_t block = 0; block < 5; ++block) {
      EXPECT_EQ(block_index(t, block, 3, channel), expected[channel][block]) << channel << ", " << block;
    }
  }
}

TEST(TileKernels, ScratchByHand) {
  const Tiling t = tiling_of(20, 33, 16);  // 2 and 3 blocks; 3 tiles along z; 4 x 6 x 8 voxels
  EXPECT_EQ(kernel_frequency_floats(t), 20 * 3 * 32);
  EXPECT_EQ(kernel_column_floats(t), 4 * 20 * 3 * 32);
  EXPECT_EQ(plane_floats(t), 5 * 6 * 32);
  EXPECT_EQ(forward_scratch(t), 2 * 960 + 8 * 16);
  EXPECT_EQ(inverse_scratch(t), 3 * 960 + 8 * 16);
  EXPECT_EQ(spectra_scratch(t), 960 + 3 * t.columns() * 32 + 8 * 16 + (4 + 6) * 32);
  TileKernels kernels;
  kernels.gemm_rows = 8;
  EXPECT_EQ(column_scratch(t, kernels, Products::three), 4 * 5 * 96 + 3 * 20 * 3 * 16 + 3 * 2 * 8 * 16);
  EXPECT_EQ(column_scratch(t, kernels, Products::four), 4 * 5 * 96 + 2 * 2 * 8 * 16);
}

TEST(TileKernels, HoldTransformsOfAFewBlocksHoweverManyThereAre) {
  EXPECT_EQ(forward_scratch(tiling_of(1000, 1, 16)), forward_scratch(tiling_of(16 * blocks_at_once, 1, 16)));
  EXPECT_EQ(inverse_scratch(tiling_of(1, 1000, 8)), inverse_scratch(tiling_of(1, 8 * blocks_at_once, 8)));
}

TEST(TileKernels, TakeSeveralStacksTogetherWhereOneHasFewBlocks) {
  EXPECT_EQ(stacks_at_once(1), blocks_at_once);
  EXPECT_EQ(stacks_at_once(2), blocks_at_once / 2);
  EXPECT_EQ(stacks_at_once(blocks_at_once), 1);
  EXPECT_EQ(stacks_at_once(100), 1);
  Tiling t = tiling_of(16, 80, 16);
  t.stacks_per_batch = 3;
  EXPECT_EQ(forward_scratch(t), 3 * plane_floats(t) + t.T.x * 16);  // no more stacks than the batch has
  t.stacks_per_batch = 100;
  EXPECT_EQ(forward_scratch(t), blocks_at_once * plane_floats(t) + t.T.x * 16);
  EXPECT_EQ(inverse_scratch(t), blocks_at_once * plane_floats(t) + t.T.x * 16);
}

// Register blocks have an even number of rows.
TEST(ColumnRows, AreOddAndTakeEvenRegisterBlocks) {
  Tiling t = tiling_of(3, 3, 16);
  for (t.stacks_per_batch = 1; t.stacks_per_batch < 20; ++t.stacks_per_batch) {
    EXPECT_EQ(column_rows(t) % 2, 1);
    EXPECT_GE(column_rows(t), round_up(t.tiles_per_batch(), 2));
    EXPECT_LE(column_rows(t), t.tiles_per_batch() + 2);
  }
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
