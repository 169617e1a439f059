#include "client/files/sent_source.hpp"

#include <malloc.h>

#include <numeric>

#include "tests/client/numbers.hpp"
#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

// Returns a source of one plane of these voxels.
template <class Number>
VolumeSource plane_of(VoxelType type, const std::vector<Number>& numbers) {
  return {{1, {1, 1, std::ssize(numbers)}, type},
          [numbers](std::int64_t, const Box& box, std::span<std::byte> out) -> Result<void> {
            std::memcpy(out.data(), numbers.data() + box.start.x, out.size());
            return {};
          },
          77};
}

TEST(SentSource, NumbersArriveAsFloat32) {
  const VolumeSource sent = as_sent(plane_of<std::int16_t>(VoxelType::i16, {-32768, 5, 32767}), "v", "");
  EXPECT_EQ(sent.facts.type, VoxelType::f32);
  EXPECT_EQ(sent.facts.n, Vec3(1, 1, 3));
  EXPECT_EQ(sent.cache_bytes, 77);
  std::vector<float> found(2);
  ASSERT_TRUE(sent.read_plane(0, {{0, 0, 1}, {1, 1, 3}}, std::as_writable_bytes(std::span(found))));
  EXPECT_EQ(found, (std::vector<float>{5, 32767}));
}

TEST(SentSource, TypesThatAreSentStayAsTheyAre) {
  std::mt19937 random(2);
  for (const VoxelType type : {VoxelType::u8, VoxelType::u16, VoxelType::f16, VoxelType::f32}) {
    const NumberVolume volume = random_numbers(type, random);
    const VolumeSource sent = as_sent(plane_of(type, volume.bytes), "v", "");
    EXPECT_EQ(sent.facts.type, type);
    std::vector<std::byte> found(volume.bytes.size());
    ASSERT_TRUE(sent.read_plane(0, {{}, {1, 1, std::ssize(found)}}, found));
    EXPECT_EQ(found, volume.bytes);
  }
}

// Planes of many blocks, whose last one is not whole, in memory that is not aligned.
TEST(SentSource, LongPlanesBecomeFloat32InPlace) {
  std::vector<std::int16_t> shorts(3 * 4096 + 77);
  std::iota(shorts.begin(), shorts.end(), std::int16_t{-6000});
  const std::vector<std::int32_t> ints(shorts.begin(), shorts.end());
  const std::vector<std::int8_t> bytes(shorts.begin(), shorts.end());
  const std::vector<double> doubles(shorts.begin(), shorts.end());
  const auto expect_all = [](VoxelType type, const auto& numbers) {
    const VolumeSource sent = as_sent(plane_of(type, numbers), "v", "");
    std::vector<std::byte> found(4 * numbers.size() + 1);
    ASSERT_TRUE(sent.read_plane(0, {{}, {1, 1, std::ssize(numbers)}}, std::span(found).subspan(1)));
    std::vector<float> values(numbers.size());
    std::memcpy(values.data(), found.data() + 1, 4 * numbers.size());
    EXPECT_EQ(values, std::vector<float>(numbers.begin(), numbers.end())) << numpy_name(type);
  };
  expect_all(VoxelType::i8, bytes);
  expect_all(VoxelType::i16, shorts);
  expect_all(VoxelType::i32, ints);
  expect_all(VoxelType::f64, doubles);
}

TEST(SentSource, OnlyNumbersOf64BitsAreCopied) {
  std::vector<std::byte> found(4 * 8);
  for (const VoxelType type : {VoxelType::i8, VoxelType::i16, VoxelType::u32, VoxelType::i32, VoxelType::i64}) {
    const std::byte* end = nullptr;
    const VolumeSource seen{{1, {1, 1, 8}, type}, [&](std::int64_t, const Box&, std::span<std::byte> out) {
                              std::ranges::fill(out, std::byte{1});
                              end = out.data() + out.size();
                              return Result<void>();
                            }};
    (void)as_sent(seen, "v", "").read_plane(0, {{}, {1, 1, 8}}, found);
    EXPECT_EQ(end == found.data() + found.size(), voxel_bytes(type) <= 4) << numpy_name(type);
  }
}

std::size_t bytes_in_use() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

TEST(SentSource, HoldsNoPlaneBetweenReads) {
  const std::int64_t count = 1 << 20;
  const VolumeSource doubles{{1, {1, 1, count}, VoxelType::f64},
                             [](std::int64_t, const Box&, std::span<std::byte> out) -> Result<void> {
                               std::ranges::fill(out, std::byte{0});
                               return {};
                             }};
  const VolumeSource sent = as_sent(doubles, "v", "");
  std::vector<float> found(static_cast<std::size_t>(count), 1);
  const std::size_t before = bytes_in_use();
  ASSERT_TRUE(sent.read_plane(0, {{}, {1, 1, count}}, std::as_writable_bytes(std::span(found))));
  EXPECT_EQ(found, std::vector<float>(static_cast<std::size_t>(count), 0));
  EXPECT_LT(bytes_in_use(), before + static_cast<std::size_t>(count));
}

TEST(SentSource, ALargeWholeNumberIsNamedWithItsVolume) {
  const VolumeSource sent = as_sent(plane_of<std::uint64_t>(VoxelType::u64, {1, 1ULL << 40}), "ids.npy", "save it");
  std::vector<std::byte> found(8);
  EXPECT_TRUE(sent.read_plane(0, {{0, 0, 0}, {1, 1, 1}}, std::span(found).first(4)));
  const Result<void> refused = sent.read_plane(0, {{}, {1, 1, 2}}, found);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "ids.npy: voxel 1099511627776 of type uint64 found, expected 16777216 at most, up to which float32 holds "
            "each whole number: save it");
}

TEST(SentSource, WhatCannotBeReadIsToldAsItIs) {
  VolumeSource broken = plane_of<double>(VoxelType::f64, {1});
  broken.read_plane = [](std::int64_t, const Box&, std::span<std::byte>) -> Result<void> {
    return Error{ErrorCode::corrupt_file, "v: cannot read plane 0"};
  };
  std::vector<std::byte> found(4);
  EXPECT_EQ(as_sent(broken, "v", "").read_plane(0, {{}, {1, 1, 1}}, found).error().message, "v: cannot read plane 0");
}

}  // namespace
}  // namespace znni::client
