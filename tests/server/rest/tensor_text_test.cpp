#include "server/rest/tensor_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/random.hpp"

namespace znni::rest {
namespace {

using testing::HasSubstr;

template <class T>
std::string bytes_of(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}

std::string text_of(const std::string& elements, ElementType type) {
  std::string text;
  EXPECT_TRUE(write_numbers(elements, type, [&text](std::string_view piece) {
    text += piece;
    return true;
  }));
  EXPECT_EQ(number_bytes(elements, type), static_cast<std::int64_t>(text.size()));
  return text;
}

void expect_tensor_refused(const std::string& json, ElementType type, std::int64_t count, const std::string& part) {
  const Result<std::string> numbers = read_numbers(json, type, count);
  ASSERT_FALSE(numbers) << json;
  EXPECT_EQ(numbers.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(numbers.error().message, HasSubstr(part)) << json;
}

// Draws every pattern of bits with the same chance.
std::vector<float> drawn_floats(int count) {
  test::Random random(7);
  std::vector<float> floats = {0.0F,
                               -0.0F,
                               1.0F,
                               0.1F,
                               -16777217.0F,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::min(),
                               std::numeric_limits<float>::denorm_min(),
                               std::numeric_limits<float>::lowest()};
  while (static_cast<int>(floats.size()) < count) {
    const auto bits = static_cast<std::uint32_t>(random.integer(0, std::numeric_limits<std::uint32_t>::max()));
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (std::isfinite(value)) floats.push_back(value);
  }
  return floats;
}

TEST(TensorText, TypesThatHaveNumbers) {
  EXPECT_TRUE(has_text(ElementType::f32));
  EXPECT_TRUE(has_text(ElementType::u8));
  EXPECT_TRUE(has_text(ElementType::u16));
  EXPECT_FALSE(has_text(ElementType::f16));
}

TEST(TensorText, FloatsReadBackAsTheSameBits) {
  const std::string elements = bytes_of(drawn_floats(20'000));
  const std::string text = "[" + text_of(elements, ElementType::f32) + "]";
  const Result<std::string> again = read_numbers(text, ElementType::f32, 20'000);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(*again == elements);
}

// Reads them as clients do: as float64 and rounded afterwards, or as float32.
TEST(TensorText, FloatsAreTheSameByWayOfFloat64) {
  for (const float value : drawn_floats(2000)) {
    const std::string text = text_of(bytes_of(std::vector<float>{value}), ElementType::f32);
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), static_cast<double>(value)) << text;
    EXPECT_EQ(std::strtof(text.c_str(), nullptr), value) << text;
  }
  EXPECT_EQ(text_of(bytes_of(std::vector<float>{-0.0F, 0.0F, 5.0F}), ElementType::f32), "-0.0,0,5");
}

TEST(TensorText, WholeNumbersReadBack) {
  std::vector<std::uint8_t> bytes(256);
  for (int i = 0; i < 256; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i);
  const std::string small = bytes_of(bytes);
  EXPECT_EQ(*read_numbers("[" + text_of(small, ElementType::u8) + "]", ElementType::u8, 256), small);
  const std::string wide = bytes_of(std::vector<std::uint16_t>{0, 255, 256, 65535});
  EXPECT_EQ(text_of(wide, ElementType::u16), "0,255,256,65535");
  EXPECT_EQ(*read_numbers("[0,255,256,65535]", ElementType::u16, 4), wide);
}

TEST(TensorText, NestedArraysAreReadRowByRow) {
  EXPECT_EQ(*read_numbers("[[1,[2]],[],[3]]", ElementType::u8, 3), std::string("\1\2\3"));
}

TEST(TensorText, FloatsTakeTheNearestOfFiniteNumbers) {
  EXPECT_EQ(*read_numbers("[0.1,-3,7,1e-50]", ElementType::f32, 4), bytes_of(std::vector<float>{0.1F, -3, 7, 0}));
  expect_tensor_refused("[1,1e39]", ElementType::f32, 2,
                        "data[1]: found something else, expected a number that float32 has");
  for (const char* number : {"[-1e39]", "[1e300]", "[-1e308]", "[3.4028236e38]"}) {
    expect_tensor_refused(number, ElementType::f32, 1,
                          "data[0]: found something else, expected a number that float32 has");
  }
  constexpr float most = std::numeric_limits<float>::max();
  EXPECT_EQ(*read_numbers("[3.4028235e38,-3.4028235e38,3.40282356e38]", ElementType::f32, 3),
            bytes_of(std::vector<float>{most, -most, most}));
}

TEST(TensorText, WhatTheTypeHasNotIsRefused) {
  expect_tensor_refused("[0,256]", ElementType::u8, 2,
                        "data[1]: found something else, expected a whole number from 0 to 255");
  expect_tensor_refused("[-1]", ElementType::u8, 1, "data[0]");
  expect_tensor_refused("[1.0]", ElementType::u8, 1, "data[0]");
  expect_tensor_refused("[65536]", ElementType::u16, 1, "from 0 to 65535");
  expect_tensor_refused("[\"1\"]", ElementType::f32, 1, "data[0]");
  expect_tensor_refused("[null]", ElementType::f32, 1, "data[0]");
  expect_tensor_refused("[1,2]", ElementType::f32, 1, "data[1]");
}

TEST(TensorText, TextComesInPiecesAndEndsWhereItIsNotTaken) {
  const std::string elements = bytes_of(std::vector<float>(100'000, 0.1F));
  int pieces = 0;
  std::size_t longest = 0;
  EXPECT_TRUE(write_numbers(elements, ElementType::f32, [&](std::string_view piece) {
    ++pieces;
    longest = std::max(longest, piece.size());
    return true;
  }));
  EXPECT_GT(pieces, 10);
  EXPECT_LE(longest, std::size_t{64} << 10);
  int taken = 0;
  EXPECT_FALSE(write_numbers(elements, ElementType::f32, [&](std::string_view) { return ++taken < 3; }));
  EXPECT_EQ(taken, 3);
  EXPECT_TRUE(write_numbers("", ElementType::f32, [](std::string_view) { return false; })) << "nothing to take";
}

TEST(TensorText, OnlyFloatsMayBeNoNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(are_finite(bytes_of(std::vector<float>{1, 2}), ElementType::f32));
  EXPECT_FALSE(are_finite(bytes_of(std::vector<float>{1, nan}), ElementType::f32));
  EXPECT_FALSE(are_finite(bytes_of(std::vector<float>{-std::numeric_limits<float>::infinity()}), ElementType::f32));
  EXPECT_TRUE(are_finite(bytes_of(std::vector<float>{nan}), ElementType::u8)) << "four small numbers";
}

}  // namespace
}  // namespace znni::rest
