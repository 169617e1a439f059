#include "server/rpc/inference/channel_output.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "tests/server/rpc/fake_model_server.hpp"

namespace znni::rpc {
namespace {

std::vector<std::byte> zeros(const VolumeShape& shape) {
  return std::vector<std::byte>(static_cast<std::size_t>(volume_bytes(shape)));
}

// Returns the place of each channel of a tensor.
std::vector<std::byte*> channels_of(const VolumeShape& shape, std::vector<std::byte>& data) {
  std::vector<std::byte*> channels;
  for (std::int64_t j = 0; j < shape.f; ++j) channels.push_back(data.data() + j * volume_bytes(shape) / shape.f);
  return channels;
}

// Fills a slab with 10 * channel + plane of the whole output.
void fill(const OutputSlab& slab) {
  for (std::int64_t j = 0; j < slab.shape.f; ++j) {
    for (std::int64_t z = 0; z < slab.shape.n.z; ++z) {
      const std::int64_t plane = slab.shape.n.y * slab.shape.n.x;
      std::memset(slab.data + (j * slab.shape.n.z + z) * plane, static_cast<int>(10 * j + slab.first_plane + z),
                  static_cast<std::size_t>(plane));
    }
  }
}

TEST(ChannelOutput, OneChannelIsWrittenInPlace) {
  FakeModelServer server;
  SlabBlocks blocks(server);
  const VolumeShape shape{1, {5, 2, 3}, ElementType::u8, VolumeOrder::channel_major};
  std::vector<std::byte> data = zeros(shape);
  ChannelOutput output(shape, channels_of(shape, data), blocks);
  const OutputSlab slab = *output.slab(2, 3);
  EXPECT_EQ(slab.data, data.data() + 2 * 6);
  EXPECT_EQ(slab.shape.n, (Vec3{3, 2, 3}));
  EXPECT_EQ(server.leased(), 0);
  EXPECT_EQ(ChannelOutput::block_bytes(shape, 3), 0);
}

TEST(ChannelOutput, ChannelsAreSpreadOut) {
  FakeModelServer server;
  SlabBlocks blocks(server);
  const VolumeShape shape{3, {5, 2, 3}, ElementType::u8, VolumeOrder::channel_major};
  std::vector<std::byte> data = zeros(shape);
  ChannelOutput output(shape, channels_of(shape, data), blocks);
  // Two slabs open at the same time.
  const OutputSlab first = *output.slab(0, 2);
  const OutputSlab second = *output.slab(2, 3);
  fill(second);
  fill(first);
  ASSERT_TRUE(output.deliver(first));
  EXPECT_FALSE(output.complete());
  ASSERT_TRUE(output.deliver(second));
  EXPECT_TRUE(output.complete());
  for (std::int64_t j = 0; j < 3; ++j) {
    for (std::int64_t z = 0; z < 5; ++z) {
      for (std::int64_t i = 0; i < 6; ++i) {
        EXPECT_EQ(static_cast<int>(data[static_cast<std::size_t>((j * 5 + z) * 6 + i)]), 10 * j + z);
      }
    }
  }
}

TEST(ChannelOutput, AChannelThatNothingAsksForIsLeftOut) {
  FakeModelServer server;
  SlabBlocks blocks(server);
  const VolumeShape shape{3, {2, 2, 3}, ElementType::u8, VolumeOrder::channel_major};
  std::vector<std::byte> data(12);
  ChannelOutput output(shape, {nullptr, data.data(), nullptr}, blocks);
  const OutputSlab slab = *output.slab(0, 2);
  fill(slab);
  ASSERT_TRUE(output.deliver(slab));
  EXPECT_TRUE(output.complete());
  EXPECT_EQ(static_cast<int>(data.front()), 10);
  EXPECT_EQ(static_cast<int>(data.back()), 11);
}

TEST(ChannelOutput, TheBlockOfAnAbandonedSlabIsUsedAgain) {
  FakeModelServer server;
  SlabBlocks blocks(server);
  const VolumeShape shape{3, {5, 2, 3}, ElementType::u8, VolumeOrder::channel_major};
  std::vector<std::byte> data = zeros(shape);
  ChannelOutput output(shape, channels_of(shape, data), blocks);
  const OutputSlab first = *output.slab(0, 2);
  output.abandon(first);
  EXPECT_EQ(output.slab(0, 2)->data, first.data);
  EXPECT_FALSE(output.complete());
}

TEST(ChannelOutput, BlockHoldsNoMoreThanTheOutput) {
  const VolumeShape shape{3, {5, 2, 3}, ElementType::f32, VolumeOrder::channel_major};
  EXPECT_EQ(ChannelOutput::block_bytes(shape, 2), 3 * 2 * 6 * 4);
  EXPECT_EQ(ChannelOutput::block_bytes(shape, 100), 3 * 5 * 6 * 4);
}

TEST(ChannelOutput, PlanesOutsideAreRefused) {
  FakeModelServer server;
  SlabBlocks blocks(server);
  const VolumeShape shape{1, {5, 2, 3}, ElementType::u8, VolumeOrder::channel_major};
  std::vector<std::byte> data = zeros(shape);
  ChannelOutput output(shape, channels_of(shape, data), blocks);
  EXPECT_EQ(output.slab(3, 3).error().code, ErrorCode::internal);
  EXPECT_EQ(output.slab(-1, 2).error().code, ErrorCode::internal);
  EXPECT_EQ(output.slab(0, 0).error().code, ErrorCode::internal);
}

}  // namespace
}  // namespace znni::rpc
