#include "client/files/packing.hpp"

#include <random>

#include <gtest/gtest.h>

namespace znni::client {
namespace {

std::vector<std::byte> random_bytes(std::size_t size, unsigned values) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % values);
  return bytes;
}

TEST(Packing, RoundTrip) {
  for (const std::int64_t width : {1, 2, 4}) {
    for (const unsigned values : {1U, 7U, 256U}) {
      const std::vector<std::byte> voxels = random_bytes(static_cast<std::size_t>(width) * 5000, values);
      std::vector<std::byte> seen(voxels.size());
      ASSERT_TRUE(unpack(pack(voxels, width), width, seen));
      EXPECT_EQ(seen, voxels);
    }
  }
}

// Halves of the voxels are alike, and lie side by side.
TEST(Packing, LikeBytesAreSmall) {
  std::vector<std::byte> voxels = random_bytes(20000, 256);
  for (std::size_t i = 0; i < voxels.size(); i += 2) voxels[i] = std::byte{63};
  EXPECT_LT(pack(voxels, 2).size(), 10500U);
  EXPECT_GT(pack(random_bytes(20000, 256), 2).size(), 19900U);
}

TEST(Packing, NothingBecomesSmallerThanTheLeast) {
  EXPECT_EQ(min_packed_bytes(1032), 1);
  EXPECT_EQ(min_packed_bytes(1033), 2);
  for (const std::int64_t size : {1, 258, 4096, 1 << 22}) {
    const std::vector<std::byte> zeros(static_cast<std::size_t>(size));
    EXPECT_GE(std::ssize(pack(zeros, 1)), min_packed_bytes(size)) << size;
  }
}

TEST(Packing, WhatIsNotPackedIsRefused) {
  const std::vector<std::byte> packed = pack(random_bytes(400, 9), 4);
  std::vector<std::byte> voxels(400);
  std::vector<std::byte> others(404);
  EXPECT_FALSE(unpack(packed, 4, others)) << "too few voxels";
  EXPECT_FALSE(unpack(std::span(packed).first(packed.size() - 1), 4, voxels)) << "cut short";
  std::vector<std::byte> changed = packed;
  changed[changed.size() / 2] ^= std::byte{1};
  EXPECT_FALSE(unpack(changed, 4, voxels)) << "of another sum";
  EXPECT_TRUE(unpack(packed, 4, voxels));
}

}  // namespace
}  // namespace znni::client
