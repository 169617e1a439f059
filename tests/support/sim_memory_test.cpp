#include "tests/support/sim_memory.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace znni::test {
namespace {

TEST(SimMemory, TakesTheLowestGapAndRefusesBeyondItsLimit) {
  SimMemory memory(8192);
  const auto first = memory.take(4000);
  const auto second = memory.take(4000);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(memory.taken(), 2 * 4032);
  EXPECT_FALSE(memory.take(200));
  memory.give_back(*first);
  const auto third = memory.take(100);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->data(), first->data());
  EXPECT_TRUE(memory.holds(third->data() + 99, 1));
  EXPECT_FALSE(memory.holds(third->data() + 99, 100));
  memory.give_back(*second);
  memory.give_back(*third);
  EXPECT_EQ(memory.taken(), 0);
}

TEST(SimMemory, IsFullOfNansWhenTakenAndAfter) {
  SimMemory memory(4096);
  for (int round = 0; round < 2; ++round) {
    const auto block = memory.take(64);
    const SimMemory::Access access(memory);
    for (const std::byte byte : *block) EXPECT_EQ(byte, std::byte{0xff});
    std::memset(block->data(), 0, block->size());
    memory.give_back(*block);
  }
}

TEST(SimMemory, OfNothingHoldsNothing) {
  SimMemory memory(0);
  EXPECT_FALSE(memory.take(1));
  EXPECT_FALSE(memory.holds(nullptr, 1));
}

TEST(SimMemoryDeathTest, TheHostCannotLook) {
  SimMemory memory(4096);
  const auto block = memory.take(64);
  const volatile std::byte* const data = block->data();
  EXPECT_DEATH(static_cast<void>(*data), "");
  const SimMemory::Access access(memory);
  EXPECT_TRUE(*data == std::byte{0xff});
}

}  // namespace
}  // namespace znni::test
