#include "proto/convert/onnx/operators/onnx_scale_shift.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

onnx::NodeProto& add_normalization(OnnxModel& model) {
  model.tensor("gamma", {2}, {2, 3});
  model.tensor("beta", {2}, {0.5F, -1});
  model.tensor("mean", {2}, {10, 20});
  model.tensor("variance", {2}, {4, 9});
  model.output("out");
  return model.node("BatchNormalization", {"in", "gamma", "beta", "mean", "variance"}, {"out"});
}

TEST(OnnxScaleShift, BatchNormalizationIsScaleAndShift) {
  OnnxModel model(2);
  test::set_real(add_normalization(model), "epsilon", 0.0F);
  const LoadedNetwork loaded = model.read();
  EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/out", ScaleShift{}, {0}}}));
  EXPECT_THAT(loaded.weights[0].scale, ElementsAre(FloatEq(1), FloatEq(1)));
  EXPECT_THAT(loaded.weights[0].shift, ElementsAre(FloatEq(-9.5F), FloatEq(-21)));
}

TEST(OnnxScaleShift, EpsilonCounts) {
  OnnxModel standard(2);
  add_normalization(standard);
  EXPECT_FLOAT_EQ(standard.read().weights[0].scale[0], static_cast<float>(2 / std::sqrt(4 + 1e-5)));
  OnnxModel large(2);
  test::set_real(add_normalization(large), "epsilon", 12.0F);
  EXPECT_FLOAT_EQ(large.read().weights[0].scale[0], 0.5F);
}

TEST(OnnxScaleShift, NormalisationsOfSpaceByItselfAreRefused) {
  OnnxModel spatial(2, 3, 7);
  test::set_integer(add_normalization(spatial), "spatial", 0);
  EXPECT_THAT(spatial.refusal(), HasSubstr("spatial = 0 is not supported"));
}

TEST(OnnxScaleShift, BadStatisticsAreErrors) {
  OnnxModel negative(2);
  add_normalization(negative);
  negative.tensor("negative", {2}, {1, -5});
  negative.proto.mutable_graph()->mutable_node(0)->set_input(4, "negative");
  EXPECT_THAT(negative.refusal(),
              HasSubstr("corrupt_file: node '/out' (BatchNormalization): variance + epsilon of channel 1 is -4.99"));
  OnnxModel short_one(2);
  add_normalization(short_one);
  short_one.tensor("short", {1}, {1});
  short_one.proto.mutable_graph()->mutable_node(0)->set_input(1, "short");
  EXPECT_THAT(short_one.refusal(), HasSubstr("input 'short' has 1 elements; one per channel, 2, is right"));
  OnnxModel missing(2);
  add_normalization(missing).mutable_input()->RemoveLast();
  EXPECT_THAT(missing.refusal(), HasSubstr("has 4 inputs; 5 are right"));
}

// Returns the weights of an operation of "in" (2 channels, 3 axes) and a constant of these extents.
NodeWeights with_constant(const char* operation, const test::Integers& extents, const std::vector<float>& values,
                          bool constant_first = false) {
  OnnxModel model(2);
  model.tensor("c", extents, values);
  const test::Names inputs = constant_first ? test::Names{"c", "in"} : test::Names{"in", "c"};
  model.node(operation, inputs, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/out", ScaleShift{}, {0}}}));
  return loaded.weights.empty() ? NodeWeights{} : loaded.weights[0];
}

TEST(OnnxScaleShift, AddAndMulByConstants) {
  for (const bool first : {false, true}) {
    const NodeWeights sum = with_constant("Add", {2, 1, 1, 1}, {3, 4}, first);
    EXPECT_THAT(sum.scale, ElementsAre(1, 1));
    EXPECT_THAT(sum.shift, ElementsAre(3, 4));
    const NodeWeights product = with_constant("Mul", {1, 2, 1, 1, 1}, {3, 4}, first);
    EXPECT_THAT(product.scale, ElementsAre(3, 4));
    EXPECT_THAT(product.shift, ElementsAre(0, 0));
  }
  EXPECT_THAT(with_constant("Add", {}, {7}).shift, ElementsAre(7, 7));
  EXPECT_THAT(with_constant("Mul", {1, 1}, {7}).scale, ElementsAre(7, 7));
}

TEST(OnnxScaleShift, SubAndDivByConstants) {
  const NodeWeights difference = with_constant("Sub", {2, 1, 1, 1}, {3, 4});
  EXPECT_THAT(difference.scale, ElementsAre(1, 1));
  EXPECT_THAT(difference.shift, ElementsAre(-3, -4));
  const NodeWeights reverse = with_constant("Sub", {2, 1, 1, 1}, {3, 4}, true);
  EXPECT_THAT(reverse.scale, ElementsAre(-1, -1));
  EXPECT_THAT(reverse.shift, ElementsAre(3, 4));
  const NodeWeights quotient = with_constant("Div", {1, 2, 1, 1, 1}, {2, -4});
  EXPECT_THAT(quotient.scale, ElementsAre(0.5F, -0.25F));
  EXPECT_THAT(quotient.shift, ElementsAre(0, 0));
}

TEST(OnnxScaleShift, DivisionsThatAreNotAScale) {
  OnnxModel by_zero;
  by_zero.tensor("c", {}, {0});
  by_zero.node("Div", {"in", "c"}, {"out"});
  EXPECT_EQ(by_zero.output("out").refusal(), "corrupt_file: node '/out' (Div): by 0");
}

TEST(OnnxScaleShift, ConstantsByATensorAndReciprocalsAreQuotients) {
  OnnxModel constant(2);
  constant.tensor("c", {2, 1, 1, 1}, {3, 4});
  constant.node("Div", {"c", "in"}, {"out"});
  const LoadedNetwork divided = constant.output("out").read();
  ASSERT_EQ(divided.network.nodes.size(), 2U);
  EXPECT_EQ(divided.network.nodes[0].operation, Operation(ScaleShift{}));
  EXPECT_THAT(divided.weights[0].scale, ElementsAre(0, 0));
  EXPECT_THAT(divided.weights[0].shift, ElementsAre(3, 4));
  EXPECT_EQ(divided.network.nodes[1].operation, Operation(Divide{}));
  EXPECT_THAT(divided.network.nodes[1].inputs, ElementsAre(1, 0));
  OnnxModel reciprocal(2);
  reciprocal.node("Reciprocal", {"in"}, {"out"});
  const LoadedNetwork inverse = reciprocal.output("out").read();
  EXPECT_EQ(inverse.network.nodes.back().operation, Operation(Divide{}));
  EXPECT_THAT(inverse.network.nodes.back().inputs, ElementsAre(1, 0));
  EXPECT_THAT(inverse.weights[0].shift, ElementsAre(1, 1));
}

TEST(OnnxScaleShift, ConstantsThatAreNotPerChannelAreRefused) {
  const test::Integers wrong[] = {{2}, {2, 1}, {3, 1, 1, 1}, {2, 2, 1, 1, 1}, {1, 1, 2, 1, 1, 1}, {2, 1, 1, 2}};
  for (const test::Integers& extents : wrong) {
    OnnxModel model(2);
    model.tensor("c", extents);
    model.node("Add", {"in", "c"}, {"out"});
    EXPECT_THAT(model.output("out").refusal(), HasSubstr("constant 'c' is neither one number nor one per channel (2)"));
  }
}

TEST(OnnxScaleShift, TwoConstantsMakeOne) {
  OnnxModel model(2);
  model.tensor("c", {1}, {3});
  model.node("Mul", {"c", "c"}, {"m"});
  model.node("Add", {"in", "m"}, {"out"});
  EXPECT_EQ(model.output("out").read().weights[0].shift, (std::vector<float>{9, 9}));
  OnnxModel large(8192);
  large.tensor("c", {8192, 1, 1, 1}, std::vector<float>(8192, 3));
  large.node("Mul", {"c", "c"}, {"m"});
  large.node("Add", {"in", "m"}, {"out"});
  EXPECT_EQ(large.output("out").read().weights[0].shift, std::vector<float>(8192, 9));
}

}  // namespace
}  // namespace znni
