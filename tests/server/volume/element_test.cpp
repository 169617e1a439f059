#include "server/volume/element.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "primitives/core/half.hpp"
#include "tests/support/half_value.hpp"

namespace znni {
namespace {

TEST(Element, BytesAreRoundedAndClamped) {
  EXPECT_EQ(byte_from_float(0.0F), 0);
  EXPECT_EQ(byte_from_float(1.0F), 255);
  EXPECT_EQ(byte_from_float(-3.0F), 0);
  EXPECT_EQ(byte_from_float(7.0F), 255);
  EXPECT_EQ(byte_from_float(std::nanf("")), 0);
  EXPECT_EQ(byte_from_float(std::numeric_limits<float>::infinity()), 255);
  for (int i = 0; i < 255; ++i) {
    EXPECT_EQ(byte_from_float((static_cast<float>(i) + 0.49F) / 255.0F), i);
    EXPECT_EQ(byte_from_float((static_cast<float>(i) + 0.51F) / 255.0F), i + 1);
  }
}

template <class T>
std::vector<float> read_all(ElementType type, const std::vector<T>& values, const Normalisation& normalisation) {
  std::vector<std::byte> bytes(values.size() * sizeof(T) + 1);
  std::memcpy(bytes.data() + 1, values.data(), values.size() * sizeof(T));  // not aligned
  std::vector<float> row(values.size());
  read_row(type, bytes.data() + 1, static_cast<std::int64_t>(values.size()), normalisation, row.data());
  return row;
}

TEST(Element, RowsOfEveryTypeAreReadAndNormalised) {
  const Normalisation twice{2.0F, -1.0F};
  EXPECT_EQ(read_all<std::uint8_t>(ElementType::u8, {0, 1, 255}, twice), (std::vector<float>{-1, 1, 509}));
  EXPECT_EQ(read_all<std::uint16_t>(ElementType::u16, {0, 1, 65535}, twice), (std::vector<float>{-1, 1, 131069}));
  EXPECT_EQ(read_all<std::uint16_t>(ElementType::f16, {0x3c00, 0xc000}, twice), (std::vector<float>{1, -5}));
  EXPECT_EQ(read_all<float>(ElementType::f32, {0.5F, -3.0F}, twice), (std::vector<float>{0, -7}));
}

// Before they are normalised; all others are as they are without it.
TEST(Element, VoxelsThatAreNoNumbersAreReplaced) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> floats;
  for (const float value : {std::nanf(""), 1.5F, -infinity, 3e38F, infinity, -0.25F}) {
    floats.insert(floats.end(), 7, value);
  }
  std::vector<std::uint16_t> halves;
  for (const float value : floats) halves.push_back(half_from_float(value == 3e38F ? 65504.0F : value));
  const Normalisation replacing{0.5F, 1.0F, 8.0F};
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    const auto* data =
        type == ElementType::f32 ? std::as_bytes(std::span(floats)).data() : std::as_bytes(std::span(halves)).data();
    std::vector<float> found(floats.size());
    std::vector<float> plain(floats.size());
    read_row(type, data, std::ssize(floats), replacing, found.data());
    read_row(type, data, std::ssize(floats), {0.5F, 1.0F}, plain.data());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], std::isfinite(floats[i]) ? plain[i] : 5.0F) << i;
  }
  const std::byte byte{255};
  float one = 0;
  read_row(ElementType::u8, &byte, 1, replacing, &one);
  EXPECT_EQ(one, 128.5F);
}

TEST(Element, RowsAreWrittenWithTheirStepAndNothingBetween) {
  const std::vector<float> row = {0.0F, 0.5F, 1.0F};
  std::vector<std::uint8_t> bytes(9, 77);
  write_row(ElementType::u8, row.data(), 3, reinterpret_cast<std::byte*>(bytes.data()), 3);
  EXPECT_EQ(bytes, (std::vector<std::uint8_t>{0, 77, 77, 128, 77, 77, 255, 77, 77}));

  std::vector<std::uint16_t> halves(6, 9);
  write_row(ElementType::f16, row.data(), 3, reinterpret_cast<std::byte*>(halves.data()), 2);
  EXPECT_EQ(halves, (std::vector<std::uint16_t>{0, 9, 0x3800, 9, 0x3c00, 9}));

  std::vector<float> floats(3, 9);
  write_row(ElementType::f32, row.data(), 3, reinterpret_cast<std::byte*>(floats.data()), 1);
  EXPECT_EQ(floats, row);
}

// Rows long enough for vectors, of all that a float can be.
TEST(Element, LongRowsAreWrittenAsSingleVoxelsAre) {
  std::vector<float> row = {std::nanf(""), -std::nanf(""), -0.0F, -1.0F, 2.0F, 1e-7F, 70000.0F};
  for (const float sign : {-1.0F, 1.0F}) row.push_back(sign * std::numeric_limits<float>::infinity());
  for (int i = 0; i < 777; ++i) row.push_back(static_cast<float>(i) / 640.0F);
  for (std::uint32_t i = 0; i < 4096; ++i) row.push_back(std::bit_cast<float>(i * 0x000fffffU));
  const auto count = static_cast<std::int64_t>(row.size());
  for (const std::size_t step : {1U, 3U}) {
    std::vector<std::uint8_t> bytes(row.size() * step, 77);
    std::vector<std::uint16_t> halves(row.size() * step, 77);
    const auto distance = static_cast<std::int64_t>(step);
    write_row(ElementType::u8, row.data(), count, reinterpret_cast<std::byte*>(bytes.data()), distance);
    write_row(ElementType::f16, row.data(), count, reinterpret_cast<std::byte*>(halves.data()), distance);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_EQ(bytes[i], i % step == 0 ? byte_from_float(row[i / step]) : 77) << i;
      EXPECT_EQ(halves[i], i % step == 0 ? half_from_float(row[i / step]) : 77) << i;
    }
  }
}

TEST(Element, LongRowsOfHalvesAreReadAsSingleOnesAre) {
  std::vector<std::uint16_t> halves;
  for (std::uint32_t i = 0; i < 3001; ++i) halves.push_back(static_cast<std::uint16_t>(i * 21));
  const std::vector<float> row = read_all(ElementType::f16, halves, {1.0F, 0.0F});
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double value = test::half_value(halves[i]);
    if (std::isnan(value)) continue;
    EXPECT_EQ(static_cast<double>(row[i]), value) << i;
  }
}

TEST(Element, FloatsThatNothingChangesKeepTheirBits) {
  const std::vector<float> values = {-0.0F, 1e-45F, -std::numeric_limits<float>::infinity(), 3.0F};
  const std::vector<float> row = read_all(ElementType::f32, values, {1.0F, 0.0F});
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(row[i]), std::bit_cast<std::uint32_t>(values[i])) << i;
  }
}

TEST(Element, OutputTypesAreThoseOfTheWire) {
  EXPECT_TRUE(can_write(ElementType::f32));
  EXPECT_TRUE(can_write(ElementType::f16));
  EXPECT_TRUE(can_write(ElementType::u8));
  EXPECT_FALSE(can_write(ElementType::u16));
}

}  // namespace
}  // namespace znni
