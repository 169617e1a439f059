#include "proto/convert/onnx/operators/onnx_layer_norm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

const test::Integers last = {0, 2, 3, 4, 1};
const test::Integers first = {0, 4, 1, 2, 3};

// Returns a LayerNormalization of 2 channels between two Transposes; `shifts`: with a third input.
OnnxModel turned_model(std::int64_t axis, bool shifts = true) {
  OnnxModel model(2, 3, 17);
  model.tensor("scale", {2}, {3.0F, 4.0F});
  model.tensor("shift", {2}, {0.5F, 0.25F});
  test::set_integers(model.node("Transpose", {"in"}, {"t"}), "perm", last);
  const test::Names inputs = shifts ? test::Names{"t", "scale", "shift"} : test::Names{"t", "scale"};
  onnx::NodeProto& node = model.node("LayerNormalization", inputs, {"n"});
  test::set_integer(node, "axis", axis);
  test::set_real(node, "epsilon", 0.125F);
  test::set_integers(model.node("Transpose", {"n"}, {"out"}), "perm", first);
  model.output("out");
  return model;
}

TEST(OnnxLayerNorm, IsANormAndAScaleAndShift) {
  for (const std::int64_t axis : {4, -1}) {
    const LoadedNetwork loaded = turned_model(axis).read();
    EXPECT_EQ(loaded.network.nodes,
              (std::vector<Node>{{"/n", AcrossChannels{AcrossKind::norm, 0.125F}, {0}}, {"/n #2", ScaleShift{}, {1}}}));
    EXPECT_EQ(loaded.weights[1].scale, (std::vector<float>{3, 4}));
    EXPECT_EQ(loaded.weights[1].shift, (std::vector<float>{0.5F, 0.25F}));
  }
  EXPECT_EQ(turned_model(-1, false).read().weights[1].shift, (std::vector<float>{0, 0}));
}

TEST(OnnxLayerNorm, IsTakenInByAConvolutionBehindIt) {
  OnnxModel model = turned_model(-1);
  model.proto.mutable_graph()->clear_output();
  model.conv("out", "conv", 2, 3, {1, 1, 1});
  const Network network = fold_and_fuse(model.output("conv").read()).network;
  ASSERT_EQ(network.nodes.size(), 2U);
  EXPECT_EQ(network.nodes[0].operation, Operation(AcrossChannels{AcrossKind::norm, 0.125F}));
}

TEST(OnnxLayerNorm, ScaleAndShiftAreAlongTheLastAxis) {
  for (const test::Integers& dims : {test::Integers{1, 2}, test::Integers{1, 1, 1, 2}}) {
    OnnxModel model = turned_model(-1);
    model.tensor("wide", dims, {3.0F, 4.0F});
    model.proto.mutable_graph()->mutable_node(1)->set_input(1, "wide");
    EXPECT_EQ(model.read().weights[1].scale, (std::vector<float>{3, 4}));
  }
  for (const int input : {1, 2}) {
    OnnxModel model = turned_model(-1);
    model.tensor("tall", {2, 1}, {3.0F, 4.0F});
    model.proto.mutable_graph()->mutable_node(1)->set_input(input, "tall");
    EXPECT_THAT(model.refusal(), HasSubstr("constant 'tall' has other axes than the last"));
  }
}

TEST(OnnxLayerNorm, OverSpaceIsRefused) {
  EXPECT_THAT(turned_model(3).refusal(), HasSubstr("node '/n' (LayerNormalization): from axis = 3 on is not supported; "
                                                   "only of the channels alone, where they are the last axis"));
  EXPECT_THAT(turned_model(7).refusal(), HasSubstr("from axis = 7 on"));
  OnnxModel model(2, 3, 17);
  model.tensor("scale", {2});
  model.node("LayerNormalization", {"in", "scale"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("from axis = -1 on is not supported"));
}

TEST(OnnxLayerNorm, BadFieldsAreRefused) {
  OnnxModel scales = turned_model(-1);
  scales.tensor("three", {3});
  scales.proto.mutable_graph()->mutable_node(1)->set_input(1, "three");
  EXPECT_THAT(scales.refusal(), HasSubstr("input 'three' has 3 elements; one per channel, 2, is right"));
  OnnxModel epsilon = turned_model(-1);
  epsilon.proto.mutable_graph()->mutable_node(1)->mutable_attribute(1)->set_f(0);
  EXPECT_THAT(epsilon.refusal(), HasSubstr("epsilon = 0.000000 is not supported; a finite number above 0 is"));
  OnnxModel statistics = turned_model(-1);
  statistics.proto.mutable_graph()->mutable_node(1)->add_output("mean");
  EXPECT_THAT(statistics.refusal(), HasSubstr("writes its statistics, 'mean', which is not supported"));
}

TEST(OnnxLayerNorm, OfTheChannelsOfAPatch) {
  OnnxModel model(1, 1, 17);
  auto* shape = model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(2)->set_dim_value(4);
  model.tensor("w", {4, 3});
  model.tensor("scale", {3});
  model.node("Flatten", {"in"}, {"row"});
  model.node("MatMul", {"row", "w"}, {"hidden"});
  model.node("LayerNormalization", {"hidden", "scale"}, {"out"});
  EXPECT_EQ(model.output("out").read().network.nodes.size(), 3U);
}

TEST(OnnxLayerNorm, ANumberPerRowIsRefused) {
  OnnxModel model(2);
  test::set_integers(model.node("Transpose", {"in"}, {"x"}), "perm", last);
  model.tensor("rows", {2, 1});
  model.node("Mul", {"x", "rows"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(),
              HasSubstr("constant 'rows' is neither one number nor one per channel (2)"));
}

}  // namespace
}  // namespace znni
