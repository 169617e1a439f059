#include "primitives/cpu/conv/conv_direct_kernel.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

TEST(ConvDirectKernel, BlocksAreEightChannelsOnlyForShortAndStridedRows) {
  EXPECT_EQ(direct_block_channels(1), 8);
  EXPECT_EQ(direct_block_channels(7), 8);
  EXPECT_EQ(direct_block_channels(8), 4);
  EXPECT_EQ(direct_block_channels(1000), 4);
  EXPECT_EQ(direct_block_channels(1000, 2), 8);
}

TEST(ConvDirectKernel, TilesOfAStridedRowAreNearlyEqual) {
  EXPECT_EQ(direct_tile_voxels(1), 1);
  EXPECT_EQ(direct_tile_voxels(7), 7);
  EXPECT_EQ(direct_tile_voxels(8), 4);
  EXPECT_EQ(direct_tile_voxels(15), 5);
  EXPECT_EQ(direct_tile_voxels(700), 7);
}

TEST(ConvDirectKernel, PackingPutsTheChannelsOfABlockSideBySide) {
  std::vector<float> kernels(3 * 2);  // 3 channels of 2 terms
  std::iota(kernels.begin(), kernels.end(), 1.0F);
  std::vector<float> packed(8, -1.0F);
  pack_direct_kernels(kernels, 2, 4, packed);
  EXPECT_EQ(packed, (std::vector<float>{1, 3, 5, 0, 2, 4, 6, 0}));
}

TEST(ConvDirectKernel, PackingGoesOnWithTheNextBlock) {
  std::vector<float> kernels(5);
  std::iota(kernels.begin(), kernels.end(), 1.0F);
  std::vector<float> packed(8, -1.0F);
  pack_direct_kernels(kernels, 1, 4, packed);
  EXPECT_EQ(packed, (std::vector<float>{1, 2, 3, 4, 5, 0, 0, 0}));
}

struct RowCase {
  std::int64_t voxels;
  std::int64_t channels;
  std::int64_t step = 1;
};

class DirectRowTest : public ::testing::TestWithParam<RowCase> {};

// The values are small integers, so float32 is exact in any order.
TEST_P(DirectRowTest, SumsOverChannelsAndWindow) {
  const auto [count, channels, step] = GetParam();
  const std::int64_t block = direct_block_channels(count, step);
  const std::int64_t f = 3;
  const Vec3 k{2, 2, 3};
  const Vec3 dilation{1, 2, 2};
  const Vec3 n{2, 3, step * (count - 1) + 5};
  test::Random random(7);
  std::vector<float> in(static_cast<std::size_t>(f * voxels(n)));
  for (float& value : in) value = static_cast<float>(random.integer(-8, 8));
  std::vector<float> kernels(static_cast<std::size_t>(channels * f * voxels(k)));
  for (float& value : kernels) value = static_cast<float>(random.integer(-8, 8));
  std::vector<float> packed(static_cast<std::size_t>(block * f * voxels(k)));
  pack_direct_kernels(kernels, f * voxels(k), block, packed);
  std::vector<float> bias(static_cast<std::size_t>(block), 0.0F);
  for (std::int64_t j = 0; j < channels; ++j) bias[static_cast<std::size_t>(j)] = static_cast<float>(j);
  std::vector<float> out(static_cast<std::size_t>(channels * (count + 1)), 999.0F);

  direct_row({.in = in.data(),
              .in_strides = dense_strides({1, f, n}, {}),
              .f = f,
              .k = k,
              .dilation = dilation,
              .step = step,
              .kernels = packed.data(),
              .bias = bias.data(),
              .out = out.data(),
              .out_f = count + 1,
              .voxels = count,
              .channels = channels});

  for (std::int64_t j = 0; j < channels; ++j) {
    for (std::int64_t x = 0; x < count; ++x) {
      float expected = bias[static_cast<std::size_t>(j)];
      for (std::int64_t term = 0; term < f * voxels(k); ++term) {
        const std::int64_t z = term / 6 % 2;
        const std::int64_t y = term / 3 % 2 * dilation.y;
        const std::int64_t from = ((term / 12 * n.z + z) * n.y + y) * n.x + step * x + term % 3 * dilation.x;
        expected += kernels[static_cast<std::size_t>(j * f * 12 + term)] * in[static_cast<std::size_t>(from)];
      }
      EXPECT_EQ(out[static_cast<std::size_t>(j * (count + 1) + x)], expected) << "channel " << j << ", voxel " << x;
    }
    EXPECT_EQ(out[static_cast<std::size_t>(j * (count + 1) + count)], 999.0F) << "wrote past the row of channel " << j;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, DirectRowTest,
                         ::testing::Values(RowCase{1, 8}, RowCase{2, 3}, RowCase{7, 8}, RowCase{7, 1}, RowCase{8, 4},
                                           RowCase{9, 1}, RowCase{15, 2}, RowCase{16, 3}, RowCase{23, 4},
                                           RowCase{24, 4}, RowCase{25, 4}, RowCase{31, 2}, RowCase{49, 4},
                                           RowCase{1, 8, 2}, RowCase{5, 3, 3}, RowCase{7, 8, 2}, RowCase{8, 1, 2},
                                           RowCase{13, 8, 4}, RowCase{15, 5, 2}));

}  // namespace
}  // namespace znni::cpu
