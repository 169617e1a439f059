#include "proto/convert/onnx/graph/onnx_known.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/folding/onnx_folding.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

onnx::TensorProto tensor_of(onnx::TensorProto::DataType type, const std::vector<std::int64_t>& dims,
                            const std::string& raw) {
  onnx::TensorProto tensor;
  tensor.set_data_type(type);
  for (const std::int64_t extent : dims) tensor.add_dims(extent);
  tensor.set_raw_data(raw);
  return tensor;
}

std::string text_of_known(const onnx::TensorProto& tensor) {
  const std::optional<KnownTensor> known = known_tensor_of(tensor);
  return known ? test::text_of(*known) : "not known";
}

TEST(OnnxKnown, SmallTensorsOfTheFile) {
  EXPECT_EQ(text_of_known(tensor_of(onnx::TensorProto::INT64, {}, std::string("\5\0\0\0\0\0\0\0", 8))), "[]: 5");
  EXPECT_EQ(text_of_known(tensor_of(onnx::TensorProto::INT32, {2}, std::string("\5\0\0\0\xff\xff\xff\xff", 8))),
            "[2]: 5, -1");
  EXPECT_EQ(text_of_known(tensor_of(onnx::TensorProto::BOOL, {1, 2}, std::string("\2\0", 2))), "[1, 2]: true, false");
  EXPECT_EQ(text_of_known(tensor_of(onnx::TensorProto::FLOAT, {1}, std::string("\0\0\0\x3f", 4))), "[1]: 0.5");
  onnx::TensorProto field;
  field.set_data_type(onnx::TensorProto::BOOL);
  field.add_int32_data(1);
  EXPECT_EQ(text_of_known(field), "[]: true");
}

TEST(OnnxKnown, OthersAreNotKnown) {
  EXPECT_EQ(text_of_known(tensor_of(onnx::TensorProto::INT64, {2}, "12345678")), "not known");
  EXPECT_EQ(text_of_known(tensor_of(onnx::TensorProto::INT32, {2}, "1234")), "not known");
  EXPECT_EQ(text_of_known(tensor_of(onnx::TensorProto::DOUBLE, {1}, "12345678")), "not known");
  EXPECT_EQ(text_of_known(tensor_of(onnx::TensorProto::BOOL, {4097}, std::string(4097, '\1'))), "not known");
  EXPECT_EQ(text_of_known(tensor_of(onnx::TensorProto::BOOL, {-1}, "")), "not known");
  onnx::TensorProto elsewhere = tensor_of(onnx::TensorProto::BOOL, {1}, "");
  test::move_outside(elsewhere, "other");
  EXPECT_EQ(text_of_known(elsewhere), "not known");
}

TEST(OnnxKnown, CountsAreBounded) {
  EXPECT_EQ(*known_count({}), 1);
  EXPECT_EQ(*known_count({64, 64}), 4096);
  EXPECT_EQ(*known_count({0, 64}), 0);
  EXPECT_THAT(known_count({64, 65}).error().message, HasSubstr("a tensor of 4160 elements"));
  EXPECT_THAT(known_count({0, std::int64_t{1} << 40}).error().message, HasSubstr("at most 4096"));
  EXPECT_THAT(known_count({-1}).error().message, HasSubstr("an extent of -1"));
  EXPECT_THAT(known_count(std::vector<std::int64_t>(9, 1)).error().message, HasSubstr("a tensor of 9 axes"));
}

TEST(OnnxKnown, IntegersMayNotDependOnTheVolume) {
  const KnownTensor extents{KnownKind::integer, {2}, {{{1, {}}, 0}, {{20, {4, 0, 0}}, 0}}};
  EXPECT_EQ(numbers_of(extents)->at(1), (VolumeNumber{20, {4, 0, 0}}));
  EXPECT_EQ(integers_of(known_integer(7))->front(), 7);
  EXPECT_THAT(integers_of(extents).error().message,
              HasSubstr("holds a number that depends on the volume; only constants are supported here"));
  EXPECT_FALSE(numbers_of(KnownTensor{KnownKind::real, {}, {KnownElement{}}}));
}

TEST(OnnxKnown, TensorsByName) {
  KnownTensors known;
  EXPECT_TRUE(known.set("a", known_integer(7)));
  EXPECT_FALSE(known.depend_on_volume());
  EXPECT_EQ(known.constant("a")->int64_data(0), 7);
  EXPECT_EQ(known.constant("a")->dims_size(), 0);
  EXPECT_TRUE(known.set("n", KnownTensor{KnownKind::integer, {}, {{{20, {4, 0, 0}}, 0}}}));
  EXPECT_TRUE(known.depend_on_volume());
  EXPECT_EQ(known.constant("n"), nullptr);
  EXPECT_NE(known.find("n"), nullptr);
  EXPECT_TRUE(known.set_sequence("s", {known_integer(1)}));
  EXPECT_EQ(known.sequence("s")->size(), 1U);
  EXPECT_THAT(known.set("s", known_integer(1)).error().message, HasSubstr("tensor 's' is written twice"));
  EXPECT_THAT(known.set_sequence("a", {}).error().message, HasSubstr("tensor 'a' is written twice"));
  known.forget("a");
  known.forget("s");
  EXPECT_EQ(known.find("a"), nullptr);
  EXPECT_EQ(known.constant("a"), nullptr);
  EXPECT_EQ(known.sequence("s"), nullptr);
}

TEST(OnnxKnown, WhatIsReadToComputeOthersIsBounded) {
  KnownTensors tensors;
  EXPECT_TRUE(tensors.read(max_known_elements_read));
  EXPECT_THAT(tensors.read(1).error().message, HasSubstr("computes from more than 4194304 numbers"));
}

TEST(OnnxKnown, AllTogetherAreBounded) {
  KnownTensors known;
  const KnownTensor large{KnownKind::boolean, {4096}, std::vector<KnownElement>(4096)};
  for (int i = 0; i < 255; ++i) EXPECT_TRUE(known.set(test::numbered("t", i), large));
  known.forget("t0");  // counts on, so that a loop cannot compute without end
  EXPECT_THAT(known.set("more", large).error().message, HasSubstr("more than 1048576 numbers"));
}

}  // namespace
}  // namespace znni
