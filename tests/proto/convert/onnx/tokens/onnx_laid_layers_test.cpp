#include "proto/convert/onnx/tokens/onnx_laid_layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/proto/convert/onnx/tokens/token_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using test::token_model;
using test::with_voxels;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(OnnxLaidLayers, ALinearLayerIsAConvolutionOfOneVoxel) {
  OnnxModel model = token_model(2);
  model.tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  model.node("MatMul", {"t", "w"}, {"m"});
  const LoadedNetwork loaded = with_voxels(model, "m", 3).read();
  ASSERT_EQ(loaded.network.nodes.size(), 2U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(Convolution{3, Vec3::cube(1), Vec3::cube(1), {}}));
  EXPECT_THAT(loaded.weights[1].kernels, ElementsAre(1, 4, 2, 5, 3, 6));
}

// PyTorch has Gemm where it joins tokens and batch.
TEST(OnnxLaidLayers, AGemmOfTokensHasABias) {
  OnnxModel model = token_model(2);
  model.tensor("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  model.tensor("b", {3}, {7, 8, 9});
  model.integers("row", {24, 2});
  model.integers("tokens", {1, 24, 3});
  model.node("Reshape", {"t", "row"}, {"r"});
  test::set_integer(model.node("Gemm", {"r", "w", "b"}, {"g"}), "transB", 1);
  model.node("Reshape", {"g", "tokens"}, {"l"});
  const LoadedNetwork loaded = with_voxels(model, "l", 3).read();
  ASSERT_EQ(loaded.network.nodes.size(), 2U);
  EXPECT_THAT(loaded.weights[1].kernels, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(loaded.weights[1].bias, ElementsAre(7, 8, 9));
}

TEST(OnnxLaidLayers, LayerNormalisationOfTokens) {
  OnnxModel model = token_model(2);
  model.tensor("scale", {2}, {3, 4});
  test::set_integer(model.node("LayerNormalization", {"t", "scale"}, {"n"}), "axis", -1);
  const LoadedNetwork loaded = with_voxels(model, "n", 2).read();
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(AcrossChannels{AcrossKind::norm}));
  EXPECT_THAT(loaded.weights[2].scale, ElementsAre(3, 4));
  EXPECT_THAT(loaded.weights[2].shift, ElementsAre(0, 0));
}

TEST(OnnxLaidLayers, SumsAndProductsWithConstants) {
  OnnxModel model = token_model(2);
  model.tensor("each", {1, 1, 2}, {3, 4});
  model.tensor("one", {}, {2});
  model.node("Mul", {"t", "each"}, {"a"});
  model.node("Sub", {"one", "a"}, {"b"});
  model.node("Div", {"b", "one"}, {"c"});
  model.node("Add", {"each", "c"}, {"d"});
  const LoadedNetwork loaded = with_voxels(model, "d", 2).read();
  ASSERT_EQ(loaded.network.nodes.size(), 5U);
  EXPECT_THAT(loaded.weights[1].scale, ElementsAre(3, 4));
  EXPECT_THAT(loaded.weights[2].scale, ElementsAre(-1, -1));
  EXPECT_THAT(loaded.weights[2].shift, ElementsAre(2, 2));
  EXPECT_THAT(loaded.weights[3].scale, ElementsAre(0.5F, 0.5F));
  EXPECT_THAT(loaded.weights[4].shift, ElementsAre(3, 4));
}

// 48 channels of 48^3 voxels have more tokens than the file has parameters: these are not written out for each.
TEST(OnnxLaidLayers, AConstantOfManyTokensIsOfChannels) {
  OnnxModel model = token_model(48);
  onnx::TensorShapeProto& shape =
      *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int axis = 2; axis < 5; ++axis) shape.mutable_dim(axis)->set_dim_value(48);
  model.tensor("each", {48});
  model.node("Add", {"t", "each"}, {"a"});
  model.integers("back", {1, 48, 48, 48, 48});
  test::set_integers(model.node("Transpose", {"a"}, {"turned"}), "perm", {0, 2, 1});
  model.node("Reshape", {"turned", "back"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  ASSERT_EQ(loaded.network.nodes.size(), 2U);
  for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(loaded.weights[1].shift[i], static_cast<float>(i));
}

// Channels in heads: the number of a head, one of each channel of a head, both, and both in another order.
TEST(OnnxLaidLayers, ConstantsOfHeads) {
  OnnxModel model = token_model(6);
  model.integers("split", {1, 24, 3, 2});
  model.integers("joined", {1, 24, 6});
  model.tensor("head", {3, 1, 1}, {1, 2, 3});
  model.tensor("channel", {2}, {4, 5});
  model.tensor("both", {1, 3, 1, 2}, {1, 2, 3, 4, 5, 6});
  model.tensor("across", {2, 1, 3}, {1, 2, 3, 4, 5, 6});
  model.node("Reshape", {"t", "split"}, {"s"});
  test::set_integers(model.node("Transpose", {"s"}, {"h"}), "perm", {0, 2, 1, 3});
  model.node("Mul", {"h", "head"}, {"a"});
  model.node("Mul", {"a", "channel"}, {"b"});
  model.node("Mul", {"b", "both"}, {"c"});
  test::set_integers(model.node("Transpose", {"c"}, {"d"}), "perm", {0, 2, 1, 3});
  test::set_integers(model.node("Transpose", {"d"}, {"e"}), "perm", {0, 3, 1, 2});
  model.node("Mul", {"e", "across"}, {"g"});
  test::set_integers(model.node("Transpose", {"g"}, {"i"}), "perm", {0, 2, 3, 1});
  model.node("Reshape", {"i", "joined"}, {"j"});
  const LoadedNetwork loaded = with_voxels(model, "j", 6).read();
  ASSERT_EQ(loaded.network.nodes.size(), 5U);
  EXPECT_THAT(loaded.weights[1].scale, ElementsAre(1, 1, 2, 2, 3, 3));
  EXPECT_THAT(loaded.weights[2].scale, ElementsAre(4, 5, 4, 5, 4, 5));
  EXPECT_THAT(loaded.weights[3].scale, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(loaded.weights[4].scale, ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(OnnxLaidLayers, SumsOfTokensAreSumsOfValues) {
  OnnxModel model = token_model(2);
  model.node("Sigmoid", {"t"}, {"s"});
  model.node("Add", {"s", "t"}, {"a"});
  EXPECT_THAT(describe(with_voxels(model, "a", 2).read().network),
              ElementsAre(HasSubstr("relu"), HasSubstr("sigmoid"), HasSubstr("add 2 <- ")));
}

// Names that the reader gives values are none of the file's: a net is the same whatever its tensors are called.
TEST(OnnxLaidLayers, AnyNamesMakeTheSameNet) {
  const auto read = [](const std::string& own, const std::string& next, const std::string& number) {
    OnnxModel model = token_model(2);
    model.tensor(number, {1}, {5});
    model.node("Sigmoid", {"t"}, {own});
    model.node("Tanh", {own}, {next});
    model.node("Add", {next, number}, {"s"});
    model.node("Add", {own, "s"}, {"a"});
    return with_voxels(model, "a", 2).read();
  };
  const LoadedNetwork plain = read("b", "c", "d");
  ASSERT_EQ(plain.network.nodes.size(), 5U);
  for (const auto& [own, next, number] :
       {std::array{"value 3", "value 1", "value 2"}, std::array{"b", "b as a value", "value 2"},
        std::array{"value 2'", "value 2", "value 1"}, std::array{"b", "value 1", "b as a value"}}) {
    const LoadedNetwork other = read(own, next, number);
    ASSERT_EQ(other.network.nodes.size(), plain.network.nodes.size()) << own;
    for (std::size_t i = 0; i < plain.network.nodes.size(); ++i) {
      EXPECT_EQ(other.network.nodes[i].operation, plain.network.nodes[i].operation) << own << " " << i;
      EXPECT_EQ(other.network.nodes[i].inputs, plain.network.nodes[i].inputs) << own << " " << i;
    }
  }
}

TEST(OnnxLaidLayers, WhatDependsOnTheLayoutIsRefused) {
  OnnxModel apart = token_model(2);
  apart.node("Add", {"t", "f"}, {"a"});
  EXPECT_THAT(apart.output("a").refusal(), HasSubstr("of tensors of different layouts is not supported"));
  OnnxModel linear = token_model(2);
  linear.tensor("w", {24, 5});
  linear.node("MatMul", {"f", "w"}, {"m"});
  EXPECT_THAT(linear.output("m").refusal(), HasSubstr("whose last axis is not that of the channels"));
  OnnxModel more = token_model(2);
  more.tensor("one", {1, 1, 1, 1}, {3});
  more.node("Add", {"t", "one"}, {"a"});
  EXPECT_THAT(more.output("a").refusal(), HasSubstr("constant 'one' is neither one number nor a tensor for all"));
  OnnxModel axes = token_model(2);
  axes.tensor("scale", {24, 2});
  test::set_integer(axes.node("LayerNormalization", {"t", "scale"}, {"n"}), "axis", 1);
  EXPECT_THAT(axes.output("n").refusal(), HasSubstr("over several axes of tokens is not supported"));
}

}  // namespace
}  // namespace znni
