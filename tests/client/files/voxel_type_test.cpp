#include "client/files/voxel_type.hpp"

#include <limits>

#include "tests/client/numbers.hpp"

namespace znni::client {
namespace {

TEST(VoxelType, EachHasAKindAndASize) {
  for (const VoxelType type : all_types) EXPECT_EQ(voxel_type(kind_of(type), voxel_bytes(type)), type);
  EXPECT_EQ(kind_of(VoxelType::u32), VoxelKind::unsigned_whole);
  EXPECT_EQ(kind_of(VoxelType::i8), VoxelKind::signed_whole);
  EXPECT_EQ(kind_of(VoxelType::f16), VoxelKind::real);
  EXPECT_EQ(voxel_bytes(VoxelType::u16), 2);
  EXPECT_EQ(voxel_bytes(VoxelType::f64), 8);
  EXPECT_EQ(voxel_type(VoxelKind::unsigned_whole, 3), std::nullopt);
  EXPECT_EQ(voxel_type(VoxelKind::real, 1), std::nullopt);
}

TEST(VoxelType, NamesAreThoseOfNumPyAndTheWire) {
  EXPECT_EQ(numpy_name(VoxelType::u8), "uint8");
  EXPECT_EQ(numpy_name(VoxelType::i64), "int64");
  EXPECT_EQ(numpy_name(VoxelType::f16), "float16");
  EXPECT_EQ(wire_name(VoxelType::u16), "UINT16");
  EXPECT_EQ(wire_name(VoxelType::i8), "INT8");
  EXPECT_EQ(wire_name(VoxelType::f16), "FP16");
}

TEST(VoxelType, WhatTheDaemonDoesNotTakeIsSentAsFloat32) {
  for (const VoxelType type : {VoxelType::u8, VoxelType::u16, VoxelType::f16, VoxelType::f32}) {
    EXPECT_EQ(sent_type(type), type);
  }
  for (const VoxelType type : {VoxelType::u32, VoxelType::u64, VoxelType::i8, VoxelType::i16, VoxelType::i32,
                               VoxelType::i64, VoxelType::f64}) {
    EXPECT_EQ(sent_type(type), VoxelType::f32);
  }
}

TEST(VoxelType, OutputsHaveThree) {
  for (const VoxelType type : {VoxelType::f32, VoxelType::f16, VoxelType::u8}) {
    EXPECT_EQ(*parse_output_type(numpy_name(type)), type);
  }
  for (const char* name : {"uint16", "int32", "float64", "uint32", ""}) {
    EXPECT_EQ(parse_output_type(name).error().message, std::string(name) + ": use float32, float16 or uint8");
  }
}

TEST(VoxelType, BytesOfEachVoxelAreReversed) {
  std::mt19937 random(3);
  for (const VoxelType type : all_types) {
    NumberVolume volume = random_numbers(type, random);
    const std::vector<std::byte> other = in_other_order(volume);
    swap_bytes(volume.bytes, voxel_bytes(type));
    EXPECT_EQ(volume.bytes, other);
  }
}

template <class Number>
Result<void> one_to_float32(Number number, VoxelType type, float& out) {
  return to_float32(std::as_bytes(std::span(&number, 1)), type, {&out, 1});
}

// Whole numbers of more than 2^24 are refused.
TEST(VoxelType, NumbersBecomeTheNearestFloat32) {
  std::mt19937 random(5);
  std::array<int, all_types.size()> taken = {};
  for (int i = 0; i < 100; ++i) {
    for (const VoxelType type : all_types) {
      NumberVolume volume = random_numbers(type, random);
      const auto width = static_cast<std::size_t>(voxel_bytes(type));
      for (std::size_t at = 0; at < volume.bytes.size(); at += width) {
        float found = 0;
        const Result<void> done = to_float32(std::span(volume.bytes).subspan(at, width), type, {&found, 1});
        const long double exact = number_at(volume.bytes.data() + at, type);
        const bool is_too_large = kind_of(type) != VoxelKind::real && std::abs(exact) > 16777216;
        ASSERT_EQ(done.has_value(), !is_too_large) << static_cast<double>(exact);
        if (is_too_large) continue;
        expect_nearest(found, exact);
        ++taken[static_cast<std::size_t>(type)];
      }
    }
  }
  for (const int count : taken) EXPECT_GT(count, 1000);
}

TEST(VoxelType, WholeNumbersThatFloat32MayNotHoldAreRefused) {
  float found = 0;
  ASSERT_TRUE(one_to_float32(std::int32_t{-16777216}, VoxelType::i32, found));
  EXPECT_EQ(found, -16777216.0F);
  ASSERT_TRUE(one_to_float32(std::uint64_t{16777216}, VoxelType::u64, found));
  EXPECT_EQ(found, 16777216.0F);
  const auto refused = [&](auto number, VoxelType type) {
    const Result<void> done = one_to_float32(number, type, found);
    return done ? "" : done.error().message;
  };
  const std::string expected = " found, expected 16777216 at most, up to which float32 holds each whole number";
  EXPECT_EQ(refused(std::uint32_t{16777217}, VoxelType::u32), "voxel 16777217 of type uint32" + expected);
  EXPECT_EQ(refused(std::int64_t{-16777217}, VoxelType::i64), "voxel -16777217 of type int64" + expected);
  EXPECT_EQ(refused(std::numeric_limits<std::uint64_t>::max(), VoxelType::u64),
            "voxel 18446744073709551615 of type uint64" + expected);
  EXPECT_EQ(refused(std::numeric_limits<std::int64_t>::min(), VoxelType::i64),
            "voxel -9223372036854775808 of type int64" + expected);
  EXPECT_EQ(refused(std::numeric_limits<std::int32_t>::min(), VoxelType::i32),
            "voxel -2147483648 of type int32" + expected);
}

// Also of whole numbers that float32 cannot hold.
TEST(VoxelType, ScaledNumbersAreRoundedOnce) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> factor(-2, 2);
  for (int i = 0; i < 300; ++i) {
    for (const VoxelType type : all_types) {
      const NumberVolume volume = random_numbers(type, random);
      const auto width = static_cast<std::size_t>(voxel_bytes(type));
      const float scale = factor(random);
      const float offset = factor(random);
      std::vector<float> found(volume.bytes.size() / width);
      normalise(volume.bytes, type, scale, offset, found);
      for (std::size_t at = 0; at < found.size(); ++at) {
        const long double number = number_at(volume.bytes.data() + at * width, type);
        expect_nearest(found[at], number * static_cast<long double>(scale) + static_cast<long double>(offset), 1e-6L);
      }
    }
  }
}

TEST(VoxelType, ScaleComesBeforeOffset) {
  const std::array<std::uint16_t, 3> voxels = {0, 3, 200};
  std::array<float, 3> out{};
  normalise(std::as_bytes(std::span(voxels)), VoxelType::u16, 0.5F, -1.0F, out);
  EXPECT_EQ(out, (std::array{-1.0F, 0.5F, 99.0F}));
}

TEST(VoxelType, WhatIsNotReadIsSaidWithWhatIs) {
  EXPECT_EQ(not_read("a.npy", "descr: '<c8'").message,
            "a.npy: descr: '<c8' found, expected whole numbers of 8 to 64 bits or real numbers of 16, 32 or 64");
}

}  // namespace
}  // namespace znni::client
