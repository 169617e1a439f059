#include "primitives/cpu/pool/pool_rows.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace znni::cpu {
namespace {

using Row = std::vector<float>;

TEST(PoolRows, ReducesOverPlanesAndRows) {
  const Row in = {1, 8, 3, 4, 5, 2, 9, 0, 7, 6, 1, 1};  // planes of 3 rows of 2
  Row out(2);
  pool_rows(PoolKind::max, in.data(), 6, 2, {2, 2, 1}, out);
  EXPECT_EQ(out, (Row{9, 8}));
  pool_rows(PoolKind::average, in.data(), 6, 2, {2, 2, 1}, out);
  EXPECT_EQ(out, (Row{1 + 3 + 9 + 7, 8 + 4 + 0 + 6}));
}

TEST(PoolRows, AWindowOfOneCopies) {
  const Row in = {1, -8};
  Row out(2);
  pool_rows(PoolKind::max, in.data(), 100, 100, {1, 1, 1}, out);
  EXPECT_EQ(out, in);
}

TEST(PoolAlongRow, SlidesByVoxelsOfSeveralLanes) {
  const Row from = {1, 10, 5, 50, 2, 20, 7, 0};  // 4 voxels of 2 lanes
  Row to(4);
  pool_along_row(PoolKind::max, from, 2, 3, to);
  EXPECT_EQ(to, (Row{5, 50, 7, 50}));
  pool_along_row(PoolKind::average, from, 2, 3, to);
  EXPECT_EQ(to, (Row{8, 80, 14, 70}));
}

TEST(PoolAlongRow, DilatedWindowsTakeVoxelsThatLieApart) {
  const Row from = {1, 2, 5, 4, 3, 9};
  Row to(2);
  pool_along_row(PoolKind::max, from, 2, 3, to);
  EXPECT_EQ(to, (Row{5, 9}));
}

TEST(TakeVoxels, TakesEveryStrideThScaled) {
  Row from(24);
  std::iota(from.begin(), from.end(), 0.0F);
  for (std::int64_t stride = 1; stride <= 6; ++stride) {
    Row to(3);
    take_voxels(from, 1, 2, stride, 0.5F, to);
    const auto q = static_cast<float>(stride);
    EXPECT_EQ(to, (Row{1, (2 + q) / 2, (2 + 2 * q) / 2})) << stride;
  }
}

TEST(TakeVoxels, MovesWholeBlocks) {
  for (const std::int64_t width : {8, 16}) {
    Row from(static_cast<std::size_t>(6 * width));
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(static_cast<std::int64_t>(i) / width);
    Row to(static_cast<std::size_t>(2 * width));
    take_voxels(from, width, 1, 3, 1.0F, to);
    EXPECT_EQ(to.front(), 1.0F);
    EXPECT_EQ(to[static_cast<std::size_t>(width - 1)], 1.0F);
    EXPECT_EQ(to[static_cast<std::size_t>(width)], 4.0F);
    EXPECT_EQ(to.back(), 4.0F);
  }
}

}  // namespace
}  // namespace znni::cpu
