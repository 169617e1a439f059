// Volumes of random numbers of any type, and what these are by definition.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "client/files/files.hpp"
#include "tests/support/half_value.hpp"

namespace znni::client {

inline constexpr std::array all_types = {VoxelType::u8,  VoxelType::u16, VoxelType::u32, VoxelType::u64,
                                         VoxelType::i8,  VoxelType::i16, VoxelType::i32, VoxelType::i64,
                                         VoxelType::f16, VoxelType::f32, VoxelType::f64};

// A volume [channels][z][y][x].
struct NumberVolume {
  VolumeFacts facts;
  std::vector<std::byte> bytes;  // of all voxels
};

// Makes the last bytes of a whole number those that it has if it fits into the first ones.
inline void shorten(std::span<std::byte> number, bool has_sign, std::size_t kept) {
  const bool is_negative = has_sign && (number[kept - 1] & std::byte{0x80}) != std::byte{0};
  std::ranges::fill(number.subspan(kept), is_negative ? std::byte{0xff} : std::byte{0});
}

// Returns voxels of random bits and random extents. Any number of the type may be among them. Whole numbers are of all
// magnitudes.
inline NumberVolume random_numbers(VoxelType type, std::mt19937& random, std::int64_t channels = 1) {
  std::uniform_int_distribution<std::int64_t> extent(1, 9);
  const VolumeFacts facts{channels, {extent(random), extent(random), extent(random)}, type};
  NumberVolume volume{facts, {}};
  volume.bytes.resize(static_cast<std::size_t>(channels * voxels(facts.n) * voxel_bytes(type)));
  std::uniform_int_distribution<int> any(0, 255);
  for (std::byte& byte : volume.bytes) byte = static_cast<std::byte>(any(random));
  if (kind_of(type) == VoxelKind::real) return volume;
  const auto width = static_cast<std::size_t>(voxel_bytes(type));
  std::uniform_int_distribution<std::size_t> kept(1, width);
  for (std::size_t at = 0; at < volume.bytes.size(); at += width) {
    shorten(std::span(volume.bytes).subspan(at, width), kind_of(type) == VoxelKind::signed_whole, kept(random));
  }
  return volume;
}

// Returns the voxels with the bytes of each from the last to the first.
inline std::vector<std::byte> in_other_order(const NumberVolume& volume) {
  const auto width = static_cast<std::size_t>(voxel_bytes(volume.facts.type));
  std::vector<std::byte> other;
  for (std::size_t at = 0; at < volume.bytes.size(); at += width) {
    for (std::size_t byte = width; byte > 0; --byte) other.push_back(volume.bytes[at + byte - 1]);
  }
  return other;
}

// Expects the file to be read as this volume, bit for bit, whole and in part.
inline void expect_numbers(const FileName& name, const NumberVolume& volume) {
  const Result<VolumeSource> source = open_source(name);
  ASSERT_TRUE(source) << source.error().message;
  const VolumeFacts& facts = volume.facts;
  ASSERT_EQ(source->facts.n, facts.n);
  ASSERT_EQ(source->facts.channels, facts.channels);
  ASSERT_EQ(source->facts.type, facts.type) << numpy_name(source->facts.type);
  const std::int64_t width = voxel_bytes(facts.type);
  for (const Box& box : {Box{{}, facts.n}, Box{{0, facts.n.y / 2, facts.n.x / 3}, facts.n}}) {
    const std::int64_t row = box.extent().x * width;
    std::vector<std::byte> plane(static_cast<std::size_t>(facts.channels * box.extent().y * row));
    for (std::int64_t z = 0; z < facts.n.z; ++z) {
      ASSERT_TRUE(source->read_plane(z, box, plane));
      auto seen = plane.begin();
      for (std::int64_t c = 0; c < facts.channels; ++c) {
        for (std::int64_t y = box.start.y; y < box.stop.y; ++y, seen += row) {
          const auto from =
              volume.bytes.begin() + (((c * facts.n.z + z) * facts.n.y + y) * facts.n.x + box.start.x) * width;
          ASSERT_TRUE(std::equal(from, from + row, seen)) << numpy_name(facts.type) << " plane " << z << " row " << y;
        }
      }
    }
  }
}

// Returns the number that is stored at `at`. long double holds all numbers of all types.
inline long double number_at(const std::byte* at, VoxelType type) {
  const auto as = [at]<class Number>(Number number) {
    std::memcpy(&number, at, sizeof number);
    return static_cast<long double>(number);
  };
  switch (type) {
    case VoxelType::u8: return as(std::uint8_t());
    case VoxelType::u16: return as(std::uint16_t());
    case VoxelType::u32: return as(std::uint32_t());
    case VoxelType::u64: return as(std::uint64_t());
    case VoxelType::i8: return as(std::int8_t());
    case VoxelType::i16: return as(std::int16_t());
    case VoxelType::i32: return as(std::int32_t());
    case VoxelType::i64: return as(std::int64_t());
    case VoxelType::f16: return test::half_value(static_cast<std::uint16_t>(as(std::uint16_t())));
    case VoxelType::f32: return as(float());
    case VoxelType::f64: return as(double());
  }
  return 0;
}

// Expects that no float32 is nearer to `exact` than `found`, but for `more` of the distance from one to the next.
inline void expect_nearest(float found, long double exact, long double more = 0) {
  if (std::isnan(exact)) {
    EXPECT_TRUE(std::isnan(found)) << found;
    return;
  }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr long double too_large = 0x1.ffffffp127L;  // halfway from the largest float32 to the next that would follow
  if (std::abs(exact) >= too_large) {
    EXPECT_EQ(found, exact > 0 ? infinity : -infinity);
    return;
  }
  ASSERT_TRUE(std::isfinite(found)) << static_cast<double>(exact);
  const long double off = std::abs(found - exact);
  for (const float end : {-infinity, infinity}) {
    const float next = std::nextafter(found, end);
    if (std::isinf(next)) continue;
    const long double gap = std::abs(static_cast<long double>(next) - found);
    EXPECT_LE(off, std::abs(next - exact) + more * gap) << found << " for " << static_cast<double>(exact);
  }
}

}  // namespace znni::client
