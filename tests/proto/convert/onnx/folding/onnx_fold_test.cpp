#include "proto/convert/onnx/folding/onnx_fold.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/folding/onnx_folding.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

TEST(OnnxFold, ShapesOfValuesFollowTheVolume) {
  OnnxModel model(2);
  model.node("Shape", {"in"}, {"out"});
  EXPECT_EQ(test::folded(model), "[5]: 1, 2, 20+4z, 24+2y, 28+1x");
  model.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(3);
  EXPECT_EQ(test::folded(model), "[5]: 3, 2, 20+4z, 24+2y, 28+1x");
}

TEST(OnnxFold, ShapesMayBePartsOnly) {
  OnnxModel model(2);
  onnx::NodeProto& shape = model.node("Shape", {"in"}, {"out"});
  test::set_integer(shape, "start", -3);
  EXPECT_EQ(test::folded(model), "[3]: 20+4z, 24+2y, 28+1x");
  test::set_integer(shape, "end", 3);
  EXPECT_EQ(test::folded(model), "[1]: 20+4z");
  shape.mutable_attribute(0)->set_i(-99);
  EXPECT_EQ(test::folded(model), "[3]: 1, 2, 20+4z");
  shape.mutable_attribute(0)->set_i(4);
  EXPECT_EQ(test::folded(model), "[0]:");
}

TEST(OnnxFold, ShapesOfConstantsAreConstant) {
  OnnxModel model(2);
  model.integers("list", {7, 8, 9});
  model.node("Shape", {"list"}, {"out"});
  EXPECT_EQ(test::folded(model), "[1]: 3");
}

// A stride of 4 makes no whole step of an extent of 24 + 2 y.
TEST(OnnxFold, ShapesThatAreNotTheSameForAllVolumesAreRefused) {
  OnnxModel model(2);
  onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"low"});
  test::set_integers(pool, "kernel_shape", {1, 4, 1});
  test::set_integers(pool, "strides", {1, 4, 1});
  model.node("Shape", {"low"}, {"out"});
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("out").proto);
  ASSERT_TRUE(graph);
  OnnxBuilder builder(*graph, 3, 2, 100);
  builder.assume({{20, 24, 28}, {4, 2, 1}});
  builder.append(*graph->nodes[0], Pooling{PoolKind::max, {1, 4, 1}, {1, 4, 1}}, {0}, 2);
  EXPECT_THAT(fold_node(*graph->nodes[1], builder).error().message,
              HasSubstr("asks for the extent of 'low' along axis 3, which is not the same function"));
}

TEST(OnnxFold, ConstantsOfIntegers) {
  OnnxModel model(2);
  onnx::NodeProto& list = model.node("Constant", {}, {"list"});
  test::set_integers(list, "value_ints", {4, 5});
  test::set_integer(model.node("Constant", {}, {"one"}), "value_int", 7);
  model.node("Add", {"list", "one"}, {"out"});
  EXPECT_EQ(test::folded(model), "[2]: 11, 12");
  for (int i = 0; i < 4096; ++i) list.mutable_attribute(0)->add_ints(1);
  EXPECT_THAT(test::folded(model), HasSubstr("makes a tensor of 4098 elements"));
}

TEST(OnnxFold, WhatIsNotKnownIsLeft) {
  OnnxModel model(2);
  model.integer("one", 1);
  model.node("Add", {"in", "one"}, {"out"});
  EXPECT_EQ(test::folded(model), "not folded");
  OnnxModel unknown(2);
  unknown.integer("one", 1);
  unknown.node("Einsum", {"one"}, {"out"});
  EXPECT_EQ(test::folded(unknown), "not folded");
}

TEST(OnnxFold, WrongNodesAreRefused) {
  OnnxModel model(2);
  model.integer("one", 1);
  model.node("Gather", {"one"}, {"out"});
  EXPECT_EQ(test::folded(model), "has 1 inputs; 2 are right");
  OnnxModel attribute(2);
  attribute.integers("list", {1});
  test::set_integer(attribute.node("Reshape", {"list", "list"}, {"out"}), "other", 1);
  EXPECT_THAT(test::folded(attribute), HasSubstr("attribute 'other' is not supported"));
}

TEST(OnnxFold, GraphsThatAskForExtents) {
  OnnxModel model;
  model.node("Relu", {"in"}, {"out"});
  const Result<OnnxGraph> without = make_onnx_graph(model.output("out").proto);
  EXPECT_FALSE(reads_extents(*without));
  onnx::AttributeProto& branch = *model.proto.mutable_graph()->mutable_node(0)->add_attribute();
  branch.set_name("then_branch");
  branch.set_type(onnx::AttributeProto::GRAPH);
  branch.mutable_g()->add_node()->set_op_type("Shape");
  const Result<OnnxGraph> within = make_onnx_graph(model.proto);
  EXPECT_TRUE(reads_extents(*within));
}

}  // namespace
}  // namespace znni
