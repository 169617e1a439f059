#include "proto/convert/onnx/tokens/onnx_tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>

#include "tests/proto/convert/onnx/tokens/token_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using test::token_model;
using test::with_voxels;
using testing::ElementsAre;
using testing::HasSubstr;

// Adds GELU of "x" as nodes, "g".
void add_gelu(OnnxModel& model, const std::string& x) {
  model.tensor("root", {}, {std::numbers::sqrt2_v<float>});
  model.tensor("one", {}, {1});
  model.tensor("half", {}, {0.5F});
  model.node("Div", {x, "root"}, {"a"});
  model.node("Erf", {"a"}, {"e"});
  model.node("Add", {"e", "one"}, {"s"});
  model.node("Mul", {x, "s"}, {"p"});
  model.node("Mul", {"p", "half"}, {"g"});
}

TEST(OnnxTokens, AnActivationOfSeveralNodesIsOneLayer) {
  OnnxModel model = token_model(2);
  add_gelu(model, "t");
  EXPECT_THAT(describe(with_voxels(model, "g", 2).read().network), ElementsAre(HasSubstr("relu"), HasSubstr("gelu")));
}

// ConvNeXt's linear layers: channels are last, and all axes are there.
TEST(OnnxTokens, LinearLayersBetweenTransposes) {
  OnnxModel model = token_model(2);
  model.tensor("w", {2, 2}, {1, 2, 3, 4});
  test::set_integers(model.node("Transpose", {"x"}, {"last"}), "perm", {0, 2, 3, 4, 1});
  model.node("MatMul", {"last", "w"}, {"m"});
  add_gelu(model, "m");
  model.node("Relu", {"g"}, {"r"});
  test::set_integers(model.node("Transpose", {"r"}, {"first"}), "perm", {0, 4, 1, 2, 3});
  model.conv("first", "c", 2, 2, {1, 1, 1});
  EXPECT_THAT(describe(model.output("c").read().network),
              ElementsAre(HasSubstr("relu"), HasSubstr("conv 2 -> 2"), HasSubstr("gelu"), HasSubstr("relu"),
                          HasSubstr("conv 2 -> 2")));
}

TEST(OnnxTokens, ALayerNormalisationOfSeveralNodesIsOneLayer) {
  OnnxModel model = token_model(2);
  model.tensor("two", {}, {2});
  model.tensor("epsilon", {}, {0.125F});
  test::set_integers(model.node("ReduceMean", {"t"}, {"mean"}), "axes", {-1});
  model.node("Sub", {"t", "mean"}, {"off"});
  model.node("Pow", {"off", "two"}, {"square"});
  test::set_integers(model.node("ReduceMean", {"square"}, {"variance"}), "axes", {-1});
  model.node("Add", {"variance", "epsilon"}, {"sum"});
  model.node("Sqrt", {"sum"}, {"deviation"});
  model.node("Div", {"off", "deviation"}, {"n"});
  const LoadedNetwork loaded = with_voxels(model, "n", 2).read();
  ASSERT_EQ(loaded.network.nodes.size(), 2U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(AcrossChannels{AcrossKind::norm, 0.125F}));
}

TEST(OnnxTokens, WhatReadsNeighboursIsRefused) {
  OnnxModel model = token_model(2);
  model.tensor("w", {2, 24, 1});
  model.node("Conv", {"t", "w"}, {"c"});
  EXPECT_THAT(model.output("c").refusal(), HasSubstr("reads voxels that are laid out as tokens"));
  OnnxModel softmax = token_model(2);
  test::set_integer(softmax.node("Softmax", {"t"}, {"s"}), "axis", 1);
  EXPECT_THAT(softmax.output("s").refusal(), HasSubstr("reads voxels that are laid out as tokens"));
}

TEST(OnnxTokens, TokensAreNoOutput) {
  OnnxModel model = token_model(2);
  model.node("Relu", {"t"}, {"r"});
  EXPECT_THAT(model.output("r").refusal(), HasSubstr("the output 'r' is transposed or reshaped"));
}

}  // namespace
}  // namespace znni
