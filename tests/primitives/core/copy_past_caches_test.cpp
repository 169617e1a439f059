#include "primitives/core/copy_past_caches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/random.hpp"

namespace znni {
namespace {

constexpr std::size_t max_bytes = 400;

// Returns a block of ones after a copy of `bytes` bytes from one offset to another.
std::vector<std::byte> copied(const std::vector<std::byte>& from, std::size_t begin, std::size_t to,
                              std::size_t bytes) {
  std::vector<std::byte> room(from.size(), std::byte{1});
  copy_past_caches(room.data() + to, from.data() + begin, static_cast<std::int64_t>(bytes));
  return room;
}

TEST(CopyPastCaches, WritesTheBytesAskedForAndNoOthersAtAnyAlignment) {
  test::Random random(41);
  std::vector<std::byte> from(max_bytes + 64);
  for (std::byte& byte : from) byte = static_cast<std::byte>(random.integer(0, 255));
  for (int round = 0; round < 2000; ++round) {
    const auto begin = static_cast<std::size_t>(random.integer(0, 63));
    const auto to = static_cast<std::size_t>(random.integer(0, 63));
    const auto bytes = static_cast<std::size_t>(random.integer(0, max_bytes));
    std::vector<std::byte> wanted(from.size(), std::byte{1});
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(begin), bytes,
                wanted.begin() + static_cast<std::ptrdiff_t>(to));
    ASSERT_EQ(copied(from, begin, to, bytes), wanted) << bytes << " bytes from " << begin << " to " << to;
  }
}

}  // namespace
}  // namespace znni
