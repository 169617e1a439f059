#include "proto/convert/onnx/operators/onnx_join.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

TEST(OnnxJoin, AddOfTwoTensors) {
  OnnxModel model(2);
  model.conv("in", "a", 2, 2, {1, 1, 1});
  model.node("Add", {"in", "a"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  ASSERT_EQ(loaded.network.nodes.size(), 2U);
  EXPECT_EQ(loaded.network.nodes[1], (Node{"/out", Add{}, {0, 1}}));
}

TEST(OnnxJoin, AddOfUnequalBranchesIsRefusedWithNames) {
  OnnxModel channels(2);
  channels.conv("in", "a", 2, 3, {1, 1, 1});
  channels.node("Add", {"in", "a"}, {"out"});
  EXPECT_THAT(channels.output("out").refusal(), HasSubstr("/out"));
  OnnxModel extents(2);
  extents.conv("in", "a", 2, 2, {3, 3, 3});
  extents.node("Add", {"in", "a"}, {"out"});
  EXPECT_THAT(extents.output("out").refusal(), HasSubstr("branches do not meet"));
}

TEST(OnnxJoin, SubOfTwoTensorsAddsTheSecondTimesMinusOne) {
  OnnxModel model(2);
  model.conv("in", "a", 2, 2, {1, 1, 1});
  model.node("Sub", {"a", "in"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(ScaleShift{}));
  EXPECT_EQ(loaded.network.nodes[1].inputs, std::vector<int>{0});
  EXPECT_EQ(loaded.weights[1].scale, (std::vector<float>{-1, -1}));
  EXPECT_EQ(loaded.weights[1].shift, (std::vector<float>{0, 0}));
  EXPECT_EQ(loaded.network.nodes[2].operation, Operation(Add{}));
  EXPECT_EQ(loaded.network.nodes[2].inputs, (std::vector<int>{1, 2}));
}

TEST(OnnxJoin, DivOfTwoTensors) {
  OnnxModel model(2);
  model.conv("in", "a", 2, 2, {1, 1, 1});
  model.node("Div", {"in", "a"}, {"out"});
  EXPECT_EQ(model.output("out").read().network.nodes[1], (Node{"/out", Divide{}, {0, 1}}));
  OnnxModel by_one(3);
  by_one.conv("in", "a", 3, 1, {1, 1, 1});
  by_one.node("Div", {"in", "a"}, {"out"});
  EXPECT_EQ(by_one.output("out").read().network.nodes[1], (Node{"/out", Divide{}, {0, 1}}));
  OnnxModel of_one(3);
  of_one.conv("in", "a", 3, 1, {1, 1, 1});
  of_one.node("Div", {"a", "in"}, {"out"});
  EXPECT_THAT(of_one.output("out").refusal(), HasSubstr("divides 1 channels by 3, which is not supported"));
}

TEST(OnnxJoin, MulOfTwoTensors) {
  OnnxModel model(2);
  model.conv("in", "a", 2, 2, {1, 1, 1});
  model.node("Mul", {"in", "a"}, {"out"});
  EXPECT_EQ(model.output("out").read().network.nodes[1], (Node{"/out", Multiply{}, {0, 1}}));
  for (const test::Names& inputs : {test::Names{"in", "gate"}, test::Names{"gate", "in"}}) {
    OnnxModel gated(3);
    gated.conv("in", "gate", 3, 1, {1, 1, 1});
    gated.node("Mul", inputs, {"out"});
    EXPECT_EQ(gated.output("out").read().network.nodes[1], (Node{"/out", Multiply{}, {0, 1}}));
  }
  OnnxModel unequal(3);
  unequal.conv("in", "a", 3, 2, {1, 1, 1});
  unequal.node("Mul", {"in", "a"}, {"out"});
  EXPECT_THAT(unequal.output("out").refusal(), HasSubstr("multiplies 3 channels by 2; as many, or 1, are right"));
  OnnxModel extents(2);
  extents.conv("in", "a", 2, 1, {3, 3, 3});
  extents.node("Mul", {"in", "a"}, {"out"});
  EXPECT_THAT(extents.output("out").refusal(), HasSubstr("branches do not meet"));
}

TEST(OnnxJoin, ConcatKeepsTheOrder) {
  for (const std::int64_t axis : {1, -4}) {
    OnnxModel model(2);
    model.conv("in", "a", 2, 5, {1, 1, 1});
    test::set_integer(model.node("Concat", {"a", "in", "a"}, {"out"}), "axis", axis);
    const LoadedNetwork loaded = model.output("out").read();
    ASSERT_EQ(loaded.network.nodes.size(), 2U);
    EXPECT_EQ(loaded.network.nodes[1], (Node{"/out", Concat{}, {1, 0, 1}}));
    EXPECT_EQ(channels_of(loaded.network).back(), 12);
  }
}

TEST(OnnxJoin, ConcatOfOneIsNothing) {
  OnnxModel model;
  model.conv("in", "a", 1, 2, {1, 1, 1});
  test::set_integer(model.node("Concat", {"a"}, {"c"}), "axis", 1);
  EXPECT_EQ(model.output("c").read().network.nodes.size(), 1U);
}

TEST(OnnxJoin, ConcatOverOtherAxesIsRefused) {
  for (const std::int64_t axis : {0, 2, -1, 5}) {
    OnnxModel model(2);
    test::set_integer(model.node("Concat", {"in", "in"}, {"out"}), "axis", axis);
    EXPECT_THAT(model.output("out").refusal(), HasSubstr("is not supported; only 1, the channels"));
  }
  OnnxModel none(2);
  none.node("Concat", {"in", "in"}, {"out"});
  EXPECT_THAT(none.output("out").refusal(), HasSubstr("attribute 'axis' is missing"));
}

TEST(OnnxJoin, IdentityAndDropoutPassOn) {
  OnnxModel model(1, 3, 12);
  model.node("Identity", {"in"}, {"i"});
  model.conv("i", "a", 1, 1, {2, 2, 2});
  model.tensor("ratio", {}, {0.5F});
  model.node("Dropout", {"a", "ratio"}, {"d", "mask"});
  model.node("Relu", {"d"}, {"r"});
  model.node("Identity", {"r"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  ASSERT_EQ(loaded.network.nodes.size(), 2U);
  EXPECT_EQ(loaded.network.nodes[1], (Node{"/r", Activate{{ActivationKind::relu}}, {1}}));
  EXPECT_EQ(loaded.network.output_name, "out");
}

TEST(OnnxJoin, CastsToFloatingPointPassOn) {
  const auto cast_to = [](std::int64_t type) {
    OnnxModel model(1);
    model.node("Relu", {"in"}, {"a"});
    test::set_integer(model.node("Cast", {"a"}, {"out"}), "to", type);
    return model.output("out");
  };
  for (const auto type :
       {onnx::TensorProto::FLOAT, onnx::TensorProto::FLOAT16, onnx::TensorProto::DOUBLE, onnx::TensorProto::BFLOAT16}) {
    EXPECT_EQ(cast_to(type).read().network.nodes.size(), 1U) << type;
  }
  EXPECT_THAT(cast_to(onnx::TensorProto::INT64).refusal(),
              HasSubstr("to elements of type number 7 is not supported; only to floating point"));
}

TEST(OnnxJoin, OldDropoutHasAnAttribute) {
  OnnxModel model(1, 3, 7);
  model.conv("in", "a", 1, 1, {1, 1, 1});
  test::set_real(model.node("Dropout", {"a"}, {"out"}), "ratio", 0.5F);
  EXPECT_EQ(model.output("out").read().network.nodes.size(), 1U);
}

TEST(OnnxJoin, DropoutThatTrainsIsRefused) {
  const auto refusal = [](bool raw, bool value) {
    OnnxModel model(1, 3, 12);
    model.conv("in", "a", 1, 1, {1, 1, 1});
    onnx::TensorProto& mode = *model.proto.mutable_graph()->add_initializer();
    mode.set_name("mode");
    mode.set_data_type(onnx::TensorProto::BOOL);
    if (raw) mode.set_raw_data(std::string(1, value ? '\1' : '\0'));
    if (!raw) mode.add_int32_data(value ? 1 : 0);
    model.node("Dropout", {"a", "", "mode"}, {"out"});
    return model.output("out").refusal();
  };
  for (const bool raw : {false, true}) {
    EXPECT_EQ(refusal(raw, false), "");
    EXPECT_THAT(refusal(raw, true), HasSubstr("drops (training mode)"));
  }
}

TEST(OnnxJoin, TheMaskMayNotBeRead) {
  OnnxModel model;
  model.conv("in", "a", 1, 1, {1, 1, 1});
  model.node("Dropout", {"a"}, {"d", "mask"});
  EXPECT_THAT(model.output("mask").refusal(), HasSubstr("the output 'mask' is not the first output of a node"));
}

// Deep supervision: heads of which some are read by what follows, in any order.
TEST(OnnxJoin, CoarseOutputsAreRepeatedToJoinFinerOnes) {
  OnnxModel model(1);
  test::set_integers(model.conv("in", "fine", 1, 2, {3, 3, 3}), "pads", {1, 1, 1, 1, 1, 1});
  onnx::NodeProto& pool = model.node("MaxPool", {"fine"}, {"low"});
  test::set_integers(pool, "kernel_shape", {1, 2, 2});
  test::set_integers(pool, "strides", {1, 2, 2});
  model.conv("low", "aux", 2, 3, {1, 1, 1});
  model.output("aux").output("fine").output("low");
  const Network network = model.read().network;
  EXPECT_EQ(network.outputs, (std::vector<NamedTensor>{{"aux", 3, {1, 2, 2}}, {"fine", 2}, {"low", 2, {1, 2, 2}}}));
  EXPECT_EQ(describe(network).back(), "outputs: concat <- aux repeated, /fine, low repeated");
  EXPECT_EQ(period(network), (Vec3{1, 2, 2}));
}

TEST(OnnxJoin, CoarseOutputsOfASmallerFieldAreToBeChosen) {
  OnnxModel model(1);
  test::set_integers(model.conv("in", "fine", 1, 2, {3, 3, 3}), "pads", {1, 1, 1, 1, 1, 1});
  onnx::NodeProto& pool = model.node("MaxPool", {"fine"}, {"low"});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  test::set_integers(pool, "strides", {2, 2, 2});
  model.conv("low", "aux", 2, 3, {3, 3, 3});
  EXPECT_THAT(model.output("aux").output("fine").refusal(), HasSubstr("choose by --outputs"));
}

}  // namespace
}  // namespace znni
