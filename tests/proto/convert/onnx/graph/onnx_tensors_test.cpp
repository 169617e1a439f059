#include "proto/convert/onnx/graph/onnx_tensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class Stored>
std::string raw(const std::vector<Stored>& values) {
  std::string bytes(values.size() * sizeof(Stored), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

onnx::TensorProto tensor(int type, const std::vector<std::int64_t>& extents) {
  onnx::TensorProto made;
  made.set_name("t");
  made.set_data_type(type);
  for (const std::int64_t extent : extents) made.add_dims(extent);
  return made;
}

TEST(OnnxTensors, FloatsRawAndField) {
  onnx::TensorProto stored = tensor(onnx::TensorProto::FLOAT, {2, 1});
  stored.set_raw_data(raw<float>({1.5F, -2}));
  EXPECT_THAT(*floats_of(stored), ElementsAre(1.5F, -2));
  onnx::TensorProto listed = tensor(onnx::TensorProto::FLOAT, {2});
  listed.add_float_data(3);
  listed.add_float_data(4);
  EXPECT_THAT(*floats_of(listed), ElementsAre(3, 4));
}

TEST(OnnxTensors, DoublesAndHalves) {
  onnx::TensorProto doubles = tensor(onnx::TensorProto::DOUBLE, {1});
  doubles.set_raw_data(raw<double>({0.1}));
  EXPECT_THAT(*floats_of(doubles), ElementsAre(0.1F));
  doubles.clear_raw_data();
  doubles.add_double_data(0.25);
  EXPECT_THAT(*floats_of(doubles), ElementsAre(0.25F));
  onnx::TensorProto halves = tensor(onnx::TensorProto::FLOAT16, {2});
  halves.set_raw_data(raw<std::uint16_t>({0x3c00, 0xc000}));
  EXPECT_THAT(*floats_of(halves), ElementsAre(1, -2));
  halves.clear_raw_data();
  halves.add_int32_data(0x3800);
  halves.add_int32_data(0x7bff);
  EXPECT_THAT(*floats_of(halves), ElementsAre(0.5F, 65504));
}

TEST(OnnxTensors, BFloats) {
  onnx::TensorProto stored = tensor(onnx::TensorProto::BFLOAT16, {3});
  stored.set_raw_data(raw<std::uint16_t>({0x3f80, 0xc000, 0x0001}));
  EXPECT_THAT(*floats_of(stored), ElementsAre(1, -2, std::ldexp(1.0F, -133)));
  stored.clear_raw_data();
  for (const int bits : {0x3f00, 0x7f7f, 0x8000}) stored.add_int32_data(bits);
  EXPECT_THAT(*floats_of(stored), ElementsAre(0.5F, std::ldexp(255.0F, 120), -0.0F));
  stored.add_int32_data(0);
  EXPECT_EQ(floats_of(stored).error().message, "tensor 't': has 4 elements; its extents ask for 3");
}

// Compares all 2^16 bfloats with the definition.
TEST(OnnxTensors, EveryBFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bfloat_to_float(static_cast<std::uint16_t>(bits));
    const int exponent = static_cast<int>((bits >> 7) & 255);
    const double fraction = (bits & 0x7f) / 128.0;
    const double sign = (bits >> 15) != 0 ? -1 : 1;
    if (exponent == 255 && fraction != 0) {
      EXPECT_TRUE(std::isnan(value));
    } else if (exponent == 255) {
      EXPECT_EQ(value, sign * INFINITY);
    } else {
      const double expected =
          exponent == 0 ? sign * fraction * std::pow(2.0, -126) : sign * (1 + fraction) * std::pow(2.0, exponent - 127);
      EXPECT_EQ(static_cast<double>(value), expected) << bits;
    }
  }
}

TEST(OnnxTensors, ScalarsAndEmptyOnes) {
  onnx::TensorProto scalar = tensor(onnx::TensorProto::FLOAT, {});
  scalar.add_float_data(9);
  EXPECT_THAT(*floats_of(scalar), ElementsAre(9));
  EXPECT_TRUE(floats_of(tensor(onnx::TensorProto::FLOAT, {0, 5}))->empty());
}

// Compares all 2^16 halves with the definition.
TEST(OnnxTensors, EveryHalf) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    const int exponent = static_cast<int>((bits >> 10) & 31);
    const double fraction = (bits & 0x3ff) / 1024.0;
    const double sign = (bits >> 15) != 0 ? -1 : 1;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(value));
    } else if (exponent == 31) {
      EXPECT_EQ(value, sign * INFINITY);
    } else {
      const double expected =
          exponent == 0 ? sign * fraction * std::pow(2.0, -14) : sign * (1 + fraction) * std::pow(2.0, exponent - 15);
      EXPECT_EQ(static_cast<double>(value), expected) << bits;
    }
  }
}

TEST(OnnxTensors, SizesMustAgree) {
  onnx::TensorProto stored = tensor(onnx::TensorProto::FLOAT, {3});
  stored.set_raw_data(raw<float>({1, 2}));
  EXPECT_EQ(floats_of(stored).error().message, "tensor 't': has 8 bytes; its extents ask for 12");
  onnx::TensorProto listed = tensor(onnx::TensorProto::FLOAT, {1});
  listed.add_float_data(3);
  listed.add_float_data(4);
  EXPECT_EQ(floats_of(listed).error().message, "tensor 't': has 2 elements; its extents ask for 1");
  EXPECT_EQ(floats_of(tensor(onnx::TensorProto::FLOAT, {2})).error().code, ErrorCode::corrupt_file);
}

TEST(OnnxTensors, HostileExtents) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_FALSE(floats_of(tensor(onnx::TensorProto::FLOAT, {huge, huge, huge})));
  EXPECT_FALSE(floats_of(tensor(onnx::TensorProto::FLOAT, {huge})));
  EXPECT_EQ(floats_of(tensor(onnx::TensorProto::FLOAT, {-1, -1})).error().message, "tensor 't' has an extent of -1");
  EXPECT_THAT(floats_of(tensor(onnx::TensorProto::FLOAT, {1, 1, 1, 1, 1, 1, 1, 1, 1})).error().message,
              HasSubstr("has 9 axes"));
}

TEST(OnnxTensors, WhatIsRefused) {
  onnx::TensorProto external = tensor(onnx::TensorProto::FLOAT, {1});
  external.set_data_location(onnx::TensorProto::EXTERNAL);
  EXPECT_THAT(floats_of(external).error().message,
              HasSubstr("tensor 't': has its data in another file, which was not read"));
  EXPECT_EQ(floats_of(external).error().code, ErrorCode::unsupported);
  onnx::TensorProto listed = tensor(onnx::TensorProto::FLOAT, {1});
  listed.add_external_data()->set_key("location");
  EXPECT_THAT(floats_of(listed).error().message, HasSubstr("another file"));
  onnx::TensorProto segment = tensor(onnx::TensorProto::FLOAT, {1});
  segment.mutable_segment()->set_begin(0);
  EXPECT_THAT(floats_of(segment).error().message, HasSubstr("segments"));
  EXPECT_THAT(floats_of(tensor(onnx::TensorProto::INT64, {1})).error().message, HasSubstr("has type INT64; FLOAT,"));
  EXPECT_THAT(floats_of(tensor(77, {1})).error().message, HasSubstr("has type number 77"));
}

TEST(OnnxTensors, Integers) {
  onnx::TensorProto stored = tensor(onnx::TensorProto::INT64, {2});
  stored.set_raw_data(raw<std::int64_t>({-1, std::int64_t{1} << 40}));
  EXPECT_THAT(*integers_of(stored), ElementsAre(-1, std::int64_t{1} << 40));
  stored.clear_raw_data();
  stored.add_int64_data(7);
  EXPECT_EQ(integers_of(stored).error().message, "tensor 't': has 1 elements; its extents ask for 2");
  EXPECT_THAT(integers_of(tensor(onnx::TensorProto::FLOAT, {0})).error().message, HasSubstr("INT64 is supported here"));
}

TEST(OnnxTensors, StoredBytes) {
  EXPECT_EQ(*stored_bytes(tensor(onnx::TensorProto::FLOAT, {2, 3})), 24);
  EXPECT_EQ(*stored_bytes(tensor(onnx::TensorProto::FLOAT16, {2, 3})), 12);
  EXPECT_EQ(*stored_bytes(tensor(onnx::TensorProto::BFLOAT16, {2, 3})), 12);
  EXPECT_EQ(*stored_bytes(tensor(onnx::TensorProto::DOUBLE, {})), 8);
  EXPECT_EQ(*stored_bytes(tensor(onnx::TensorProto::INT64, {2})), -1);
  EXPECT_FALSE(stored_bytes(tensor(onnx::TensorProto::FLOAT, {-2})));
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(*stored_bytes(tensor(onnx::TensorProto::FLOAT, {huge, huge})), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace znni
