#include "proto/convert/onnx/folding/onnx_fold_arithmetic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/proto/convert/onnx/folding/onnx_folding.hpp"

namespace znni {
namespace {

using test::Integers;
using test::Names;
using test::OnnxModel;
using testing::HasSubstr;

// Returns what a node makes of "extents", 20+4z 24+2y 28+1x, of "reals", 1.5 -2, of "booleans", true false, and of
// lists of integers.
std::string made_by(std::string_view operation, const Names& inputs,
                    const std::vector<std::pair<std::string, Integers>>& lists = {},
                    void (*change)(onnx::NodeProto& node) = nullptr) {
  OnnxModel model(2);
  test::set_integer(model.node("Shape", {"in"}, {"extents"}), "start", 2);
  model.tensor("reals", {2}, {1.5F, -2});
  onnx::TensorProto& booleans = *model.proto.mutable_graph()->add_initializer();
  booleans.set_name("booleans");
  booleans.set_data_type(onnx::TensorProto::BOOL);
  booleans.add_dims(2);
  booleans.set_raw_data(std::string("\1\0", 2));
  for (const auto& [name, values] : lists) model.integers(name, values);
  onnx::NodeProto& node = model.node(operation, inputs, {"out"});
  if (change != nullptr) change(node);
  return test::folded(model);
}

TEST(OnnxFoldArithmetic, Integers) {
  EXPECT_EQ(made_by("Add", {"a", "b"}, {{"a", {1, 2}}, {"b", {10}}}), "[2]: 11, 12");
  EXPECT_EQ(made_by("Sub", {"a", "b"}, {{"a", {1, 2}}, {"b", {10, 20}}}), "[2]: -9, -18");
  EXPECT_EQ(made_by("Mul", {"a", "b"}, {{"a", {1, 2}}, {"b", {10}}}), "[2]: 10, 20");
  EXPECT_EQ(made_by("Div", {"a", "b"}, {{"a", {7, -7}}, {"b", {2}}}), "[2]: 3, -3");
  EXPECT_EQ(made_by("Mod", {"a", "b"}, {{"a", {7, -7}}, {"b", {4}}}), "[2]: 3, 1");
  EXPECT_EQ(made_by("Mod", {"a", "b"}, {{"a", {7, -7}}, {"b", {4}}}, [](auto& n) { test::set_integer(n, "fmod", 1); }),
            "[2]: 3, -3");
  EXPECT_EQ(made_by("Neg", {"a"}, {{"a", {7, -7}}}), "[2]: -7, 7");
  EXPECT_EQ(made_by("Min", {"a", "b", "c"}, {{"a", {7, 1}}, {"b", {4}}, {"c", {5}}}), "[2]: 4, 1");
  EXPECT_EQ(made_by("Max", {"a", "b"}, {{"a", {7, 1}}, {"b", {4}}}), "[2]: 7, 4");
  EXPECT_EQ(made_by("ReduceMin", {"a"}, {{"a", {7, 1}}}), "[1]: 1");
  EXPECT_EQ(
      made_by("ReduceMin", {"a"}, {{"a", {7, 1}}}, [](auto& n) { test::set_integer(n, "noop_with_empty_axes", 1); }),
      "[2]: 7, 1");
  EXPECT_EQ(made_by("ReduceMax", {"a"}, {{"a", {7, 1}}}, [](auto& n) { test::set_integer(n, "keepdims", 0); }),
            "[]: 7");
}

TEST(OnnxFoldArithmetic, ExtentsStayExactForAllVolumes) {
  EXPECT_EQ(made_by("Add", {"extents", "b"}, {{"b", {1}}}), "[3]: 21+4z, 25+2y, 29+1x");
  EXPECT_EQ(made_by("Sub", {"extents", "extents"}), "[3]: 0, 0, 0");
  EXPECT_EQ(made_by("Mul", {"b", "extents"}, {{"b", {2, 3, -1}}}), "[3]: 40+8z, 72+6y, -28-1x");
  EXPECT_EQ(made_by("Div", {"extents", "b"}, {{"b", {4, 2, 1}}}), "[3]: 5+1z, 12+1y, 28+1x");
  EXPECT_EQ(made_by("Mod", {"extents", "b"}, {{"b", {4, 2, 1}}}), "[3]: 0, 0, 0");
  EXPECT_EQ(made_by("Min", {"extents", "b"}, {{"b", {20}}}), "[3]: 20, 20, 20");
  EXPECT_EQ(made_by("Max", {"b", "extents"}, {{"b", {20}}}), "[3]: 20+4z, 24+2y, 28+1x");
}

TEST(OnnxFoldArithmetic, WhatIsNotTheSameForAllVolumesIsRefused) {
  const auto refused = HasSubstr("a number that depends on the volume and 5 nothing that is known for all volumes");
  EXPECT_THAT(made_by("Div", {"extents", "b"}, {{"b", {5}}}), refused);
  EXPECT_THAT(made_by("Mod", {"extents", "b"}, {{"b", {5}}}), refused);
  EXPECT_THAT(made_by("Mul", {"extents", "extents"}), HasSubstr("nothing that is known for all volumes"));
  EXPECT_THAT(made_by("Min", {"extents", "b"}, {{"b", {64}}}), HasSubstr("nothing that is known"));
  EXPECT_THAT(made_by("Max", {"extents", "b"}, {{"b", {64}}}), HasSubstr("nothing that is known"));
  EXPECT_THAT(made_by("Equal", {"extents", "b"}, {{"b", {64}}}), HasSubstr("nothing that is known"));
  EXPECT_THAT(made_by("ReduceMin", {"extents"}), HasSubstr("nothing that is known"));
}

TEST(OnnxFoldArithmetic, OverflowsAndDivisionsByZeroAreRefused) {
  constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(made_by("Add", {"a", "b"}, {{"a", {highest}}, {"b", {1}}}), HasSubstr("nothing that is known"));
  EXPECT_THAT(made_by("Mul", {"a", "b"}, {{"a", {highest}}, {"b", {2}}}), HasSubstr("nothing that is known"));
  EXPECT_THAT(made_by("Div", {"a", "b"}, {{"a", {1}}, {"b", {0}}}), HasSubstr("makes of 1 and 0 nothing"));
  EXPECT_THAT(made_by("Mod", {"a", "b"}, {{"a", {1}}, {"b", {0}}}), HasSubstr("makes of 1 and 0 nothing"));
  EXPECT_THAT(made_by("Neg", {"a"}, {{"a", {-highest - 1}}}), HasSubstr("nothing that is known"));
}

TEST(OnnxFoldArithmetic, Reals) {
  EXPECT_EQ(made_by("Add", {"reals", "reals"}), "[2]: 3, -4");
  EXPECT_EQ(made_by("Sub", {"reals", "reals"}), "[2]: 0, 0");
  EXPECT_EQ(made_by("Mul", {"reals", "reals"}), "[2]: 2.25, 4");
  EXPECT_EQ(made_by("Div", {"reals", "reals"}), "[2]: 1, 1");
  EXPECT_EQ(made_by("Neg", {"reals"}), "[2]: -1.5, 2");
  EXPECT_EQ(made_by("ReduceMax", {"reals"}), "[1]: 1.5");
  EXPECT_THAT(made_by("Equal", {"reals", "reals"}), HasSubstr("compares reals"));
  EXPECT_THAT(made_by("Mod", {"reals", "reals"}), HasSubstr("has inputs that are no integers"));
}

TEST(OnnxFoldArithmetic, Comparisons) {
  const std::vector<std::pair<std::string, Integers>> lists = {{"a", {1, 2, 3}}, {"b", {2}}};
  EXPECT_EQ(made_by("Equal", {"a", "b"}, lists), "[3]: false, true, false");
  EXPECT_EQ(made_by("Less", {"a", "b"}, lists), "[3]: true, false, false");
  EXPECT_EQ(made_by("LessOrEqual", {"a", "b"}, lists), "[3]: true, true, false");
  EXPECT_EQ(made_by("Greater", {"a", "b"}, lists), "[3]: false, false, true");
  EXPECT_EQ(made_by("GreaterOrEqual", {"a", "b"}, lists), "[3]: false, true, true");
  EXPECT_EQ(made_by("Equal", {"extents", "extents"}), "[3]: true, true, true");
  EXPECT_EQ(made_by("Equal", {"extents", "b"}, lists), "[3]: false, false, false");
}

TEST(OnnxFoldArithmetic, Booleans) {
  EXPECT_EQ(made_by("Not", {"booleans"}), "[2]: false, true");
  EXPECT_EQ(made_by("Equal", {"booleans", "booleans"}), "[2]: true, true");
  OnnxModel model(2);
  for (const char* name : {"a", "b"}) {
    onnx::TensorProto& booleans = *model.proto.mutable_graph()->add_initializer();
    booleans.set_name(name);
    booleans.set_data_type(onnx::TensorProto::BOOL);
    booleans.add_dims(4);
    for (int i = 0; i < 4; ++i) booleans.add_int32_data(name[0] == 'a' ? i / 2 : i % 2);
  }
  onnx::NodeProto& node = model.node("And", {"a", "b"}, {"out"});
  EXPECT_EQ(test::folded(model), "[4]: false, false, false, true");
  node.set_op_type("Or");
  EXPECT_EQ(test::folded(model), "[4]: false, true, true, true");
  EXPECT_THAT(made_by("And", {"a", "a"}, {{"a", {1}}}), HasSubstr("its inputs are no booleans"));
  EXPECT_THAT(made_by("Not", {"a"}, {{"a", {1}}}), HasSubstr("its input is no boolean"));
  EXPECT_THAT(made_by("Add", {"booleans", "booleans"}), HasSubstr("computes with booleans"));
}

TEST(OnnxFoldArithmetic, WhereChooses) {
  EXPECT_EQ(made_by("Where", {"booleans", "a", "b"}, {{"a", {1}}, {"b", {7, 8}}}), "[2]: 1, 8");
  EXPECT_THAT(made_by("Where", {"a", "a", "a"}, {{"a", {1}}}), HasSubstr("wrong types"));
  EXPECT_THAT(made_by("Where", {"booleans", "a", "reals"}, {{"a", {1}}}), HasSubstr("wrong types"));
}

TEST(OnnxFoldArithmetic, CastsBetweenTypes) {
  const auto to_int64 = [](onnx::NodeProto& node) { test::set_integer(node, "to", onnx::TensorProto::INT64); };
  const auto to_int32 = [](onnx::NodeProto& node) { test::set_integer(node, "to", onnx::TensorProto::INT32); };
  const auto to_bool = [](onnx::NodeProto& node) { test::set_integer(node, "to", onnx::TensorProto::BOOL); };
  const auto to_float = [](onnx::NodeProto& node) { test::set_integer(node, "to", onnx::TensorProto::FLOAT); };
  EXPECT_EQ(made_by("Cast", {"reals"}, {}, to_int64), "[2]: 1, -2");
  EXPECT_EQ(made_by("Cast", {"booleans"}, {}, to_int32), "[2]: 1, 0");
  EXPECT_EQ(made_by("Cast", {"extents"}, {}, to_int64), "[3]: 20+4z, 24+2y, 28+1x");
  EXPECT_EQ(made_by("Cast", {"extents"}, {}, to_bool), "[3]: true, true, true");
  EXPECT_EQ(made_by("Cast", {"reals"}, {}, to_bool), "[2]: true, true");
  EXPECT_EQ(made_by("Cast", {"a"}, {{"a", {3}}}, to_float), "[1]: 3");
  EXPECT_THAT(made_by("Cast", {"extents"}, {}, to_float), HasSubstr("makes a real of a number that depends"));
  EXPECT_THAT(made_by("Cast", {"a"}, {{"a", {std::int64_t{1} << 31}}}, to_int32),
              HasSubstr("an integer of 32 bits of 2147483648"));
  EXPECT_THAT(made_by("Cast", {"reals"}), HasSubstr("casts to type number 0"));
  OnnxModel infinite(2);
  infinite.tensor("a", {1}, {std::numeric_limits<float>::infinity()});
  to_int64(infinite.node("Cast", {"a"}, {"out"}));
  EXPECT_THAT(test::folded(infinite), HasSubstr("makes an integer of inf"));
}

TEST(OnnxFoldArithmetic, TypesAndExtentsMustFit) {
  EXPECT_THAT(made_by("Add", {"a", "reals"}, {{"a", {1}}}), HasSubstr("its inputs are of different types"));
  EXPECT_THAT(made_by("Add", {"a", "b"}, {{"a", {1, 2}}, {"b", {1, 2, 3}}}), HasSubstr("extents of 2 and 3"));
  EXPECT_THAT(made_by("ReduceMin", {"a"}, {{"a", {}}}), HasSubstr("reduces nothing"));
}

}  // namespace
}  // namespace znni
