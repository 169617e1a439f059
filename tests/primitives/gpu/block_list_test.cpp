#include "primitives/gpu/block_list.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "primitives/gpu/areas.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

TEST(BlockList, FillsAndEmpties) {
  BlockList list(1000, 256);
  EXPECT_EQ(list.largest_gap(), 768) << "whole alignments";
  EXPECT_EQ(list.take(1), 0);
  EXPECT_EQ(list.take(300), 256);
  EXPECT_EQ(list.taken(), 768);
  EXPECT_EQ(list.take(1), std::nullopt);
  list.give_back(0);
  EXPECT_EQ(list.take(200), 0);
  list.give_back(256);
  list.give_back(0);
  EXPECT_EQ(list.taken(), 0);
  EXPECT_EQ(list.take(768), 0) << "gaps that meet are one";
}

TEST(Areas, AreAlignedAndHoldWhatWasAsked) {
  std::vector<std::byte> memory(4096);
  for (std::size_t at = 0; at < 512; at += 64) {
    const auto granted = std::span(memory).subspan(at, static_cast<std::size_t>(area_bytes(1000)));
    const std::span<std::byte> area = aligned_area(granted);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(area.data()) % 256, 0U);
    EXPECT_EQ(area.size(), 1000U);
    EXPECT_LE(area.data() + area.size(), granted.data() + granted.size());
  }
}

TEST(BlockList, GivingBackWhatWasNotTakenStopsTheProgram) {
  BlockList list(1024, 64);
  EXPECT_DEATH(list.give_back(64), "not taken");
}

TEST(BlockList, BlocksNeverOverlap) {
  test::Random random(3);
  BlockList list(1 << 16, 64);
  std::map<std::int64_t, std::int64_t> blocks;
  for (int i = 0; i < 3000; ++i) {
    if (!blocks.empty() && random.chance(0.5)) {
      const auto one = std::next(blocks.begin(), random.integer(0, static_cast<std::int64_t>(blocks.size()) - 1));
      list.give_back(one->first);
      blocks.erase(one);
      continue;
    }
    const std::int64_t bytes = random.integer(1, 5000);
    const std::optional<std::int64_t> offset = list.take(bytes);
    if (!offset) {
      EXPECT_LT(list.largest_gap(), bytes);
      continue;
    }
    const auto next = blocks.lower_bound(*offset);
    if (next != blocks.end()) {
      EXPECT_LE(*offset + bytes, next->first);
    }
    if (next != blocks.begin()) {
      EXPECT_LE(std::prev(next)->first + std::prev(next)->second, *offset);
    }
    EXPECT_EQ(*offset % 64, 0);
    EXPECT_LE(*offset + bytes, 1 << 16);
    blocks.emplace(*offset, bytes);
  }
}

}  // namespace
}  // namespace znni::cuda
