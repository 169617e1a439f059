#include "server/rpc/base/slab_blocks.hpp"

#include <gtest/gtest.h>

#include "tests/server/rpc/fake_model_server.hpp"

namespace znni::rpc {
namespace {

TEST(SlabBlocks, BlocksAreLeasedAndUsedAgain) {
  FakeModelServer server(1000);
  SlabBlocks blocks(server);
  ASSERT_TRUE(blocks.reserve(100, 1));
  EXPECT_EQ(server.leased(), 100);
  std::byte* first = *blocks.take(80);
  EXPECT_EQ(server.leased(), 100);
  blocks.give_back(first);
  EXPECT_EQ(*blocks.take(100), first);
}

TEST(SlabBlocks, MoreAreLeasedWhileAllAreTaken) {
  FakeModelServer server(1000);
  SlabBlocks blocks(server);
  std::byte* first = *blocks.take(100);
  std::byte* second = *blocks.take(100);
  EXPECT_NE(first, second);
  EXPECT_EQ(server.leased(), 200);
  blocks.give_back(first);
  EXPECT_NE(*blocks.take(150), first);
  EXPECT_EQ(server.leased(), 350);
}

TEST(SlabBlocks, TheBudgetRules) {
  FakeModelServer server(100);
  SlabBlocks blocks(server);
  EXPECT_EQ(blocks.reserve(101, 1).error().code, ErrorCode::over_budget);
  ASSERT_TRUE(blocks.take(60));
  EXPECT_EQ(blocks.take(60).error().code, ErrorCode::over_budget);
}

TEST(SlabBlocks, AreReservedAllOrNotAtAll) {
  FakeModelServer server(100);
  SlabBlocks blocks(server);
  EXPECT_EQ(blocks.reserve(30, 4).error().code, ErrorCode::over_budget);
  EXPECT_EQ(server.leased(), 0);
  ASSERT_TRUE(blocks.reserve(30, 3));
  EXPECT_EQ(server.leased(), 90);
  for (int block = 0; block < 3; ++block) EXPECT_TRUE(blocks.take(30));
  EXPECT_EQ(server.leased(), 90);
}

TEST(SlabBlocks, AllIsGivenBack) {
  FakeModelServer server(1000);
  {
    SlabBlocks blocks(server);
    ASSERT_TRUE(blocks.reserve(100, 1));
    blocks.clear();
    EXPECT_EQ(server.leased(), 0);
    ASSERT_TRUE(blocks.take(100));
  }
  EXPECT_EQ(server.leased(), 0);
}

TEST(SlabBlocksDeath, ForeignMemoryIsABug) {
  FakeModelServer server(1000);
  SlabBlocks blocks(server);
  const std::byte other{};
  EXPECT_DEATH(blocks.give_back(&other), "not taken");
}

}  // namespace
}  // namespace znni::rpc
