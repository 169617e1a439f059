#include "proto/convert/onnx/operators/onnx_pooled.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::Integers;
using test::Names;
using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

// Returns a model of four channels, of which "p" are the means: [N, 4, 1, 1, 1].
OnnxModel means(std::int64_t opset = 13, const Integers& extents = {}) {
  OnnxModel model(4, 3, opset);
  onnx::TypeProto::Tensor* type = model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    type->mutable_shape()->mutable_dim(static_cast<int>(axis))->set_dim_value(extents[axis]);
  }
  model.node("GlobalAveragePool", {"in"}, {"p"});
  return model;
}

// Returns the operators of a net that multiplies its input by `gate`, or its refusal.
std::vector<std::string> nodes_of(OnnxModel model, const std::string& gate = "g") {
  model.node("Mul", {"in", gate}, {"out"});
  model.output("out");
  if (const std::string refusal = model.refusal(); !refusal.empty()) return {refusal};
  return describe(model.read().network);
}

TEST(OnnxPooled, SqueezeAndExcitationOfConvolutions) {
  OnnxModel model = means();
  model.conv("p", "a", 4, 2, {1, 1, 1});
  model.node("Relu", {"a"}, {"b"});
  model.conv("b", "c", 2, 4, {1, 1, 1});
  model.node("Sigmoid", {"c"}, {"g"});
  EXPECT_THAT(nodes_of(model), ElementsAre("/p: global mean 4 <- in", "/a: conv 4 -> 2, k 1x1x1 <- /p",
                                           "/b: activation 2, relu <- /a", "/c: conv 2 -> 4, k 1x1x1 <- /b",
                                           "/g: activation 4, sigmoid <- /c", "/out: multiply 4 <- in, /g"));
}

// PyTorch exports so x.view(n, c), two linear layers, and view(n, c, 1, 1, 1).
TEST(OnnxPooled, SqueezeAndExcitationOfLinearLayers) {
  for (const Integers& flat : {Integers{1, 4}, {-1, 4}, {1, -1}, {0, -1}, {0, 0}}) {
    OnnxModel model = means();
    model.integers("flat", flat);
    model.integers("back", {-1, 4, 1, 1, 1});
    model.tensor("w", {4, 4});
    model.node("Reshape", {"p", "flat"}, {"f"});
    model.node("MatMul", {"f", "w"}, {"a"});
    model.node("Sigmoid", {"a"}, {"b"});
    model.node("Reshape", {"b", "back"}, {"g"});
    EXPECT_EQ(nodes_of(model).size(), 4U) << nodes_of(model)[0];
  }
}

TEST(OnnxPooled, AxesAreTakenAwayAndPutBack) {
  OnnxModel model = means(11);
  test::set_integers(model.node("Squeeze", {"p"}, {"a"}), "axes", {-1});
  test::set_integers(model.node("Squeeze", {"a"}, {"b"}), "axes", {2, 3});
  test::set_integers(model.node("Unsqueeze", {"b"}, {"c"}), "axes", {2});
  test::set_integers(model.node("Unsqueeze", {"c"}, {"g"}), "axes", {-1, 3});
  EXPECT_THAT(nodes_of(model), ElementsAre("/p: global mean 4 <- in", "/out: multiply 4 <- in, /p"));
  EXPECT_THAT(nodes_of(model, "c"), ElementsAre(HasSubstr("node '/out' (Mul): its input is pooled of all voxels")));
  OnnxModel flat = means();
  test::set_integer(flat.node("Flatten", {"p"}, {"f"}), "axis", -4);
  flat.integers("axes", {4, 3, 2});
  flat.node("Unsqueeze", {"f", "axes"}, {"g"});
  EXPECT_EQ(nodes_of(flat).size(), 2U);
}

TEST(OnnxPooled, OtherAxesAreRefused) {
  const std::tuple<const char*, const char*, Integers, const char*> wrong[] = {
      {"Squeeze", "p", {0}, "axis 0 is not supported here; only spatial axes, each once"},
      {"Squeeze", "p", {5}, "axis 5 is not supported"},
      {"Squeeze", "p", {2, -3}, "axis -3 is not supported"},
      {"Squeeze", "p", {}, "names no axes"},
      {"Unsqueeze", "p", {1}, "axis 1 is not supported"},
      {"Unsqueeze", "p", {6}, "axis 6 is not supported"},
      {"Unsqueeze", "p", {5, 6, 7, 8}, "makes more than 8 axes"},
      {"Reshape", "p", {4}, "only to [N, C] and [N, C, 1, ...]"},
      {"Reshape", "p", {1, 2, 2}, "only to [N, C]"},
      {"Reshape", "p", {4, 1}, "only to [N, C]"},
      {"Reshape", "p", {-1, -1}, "only to [N, C]"},
      {"Reshape", "p", {1, 4, 1, 1, 1, 1, 1, 1, 1}, "only to [N, C]"},
      {"Reshape", "p", {1, 2, -1}, "only to [N, C]"}};
  for (const auto& [operation, input, axes, says] : wrong) {
    OnnxModel model = means();
    model.integers("numbers", axes);
    model.node(operation, {input, "numbers"}, {"g"});
    EXPECT_THAT(nodes_of(model), ElementsAre(HasSubstr(says))) << operation;
  }
  OnnxModel flattened = means();
  test::set_integer(flattened.node("Flatten", {"p"}, {"g"}), "axis", 2);
  EXPECT_THAT(nodes_of(flattened), ElementsAre(HasSubstr("axis = 2 is not supported; only 1")));
}

// The last axis of a tensor of two axes is that of the channels.
TEST(OnnxPooled, SumsAndProducts) {
  OnnxModel pooled = means();
  pooled.node("GlobalMaxPool", {"in"}, {"q"});
  pooled.node("Add", {"p", "q"}, {"a"});
  pooled.tensor("each", {4, 1, 1, 1});
  pooled.node("Mul", {"a", "each"}, {"g"});
  EXPECT_EQ(nodes_of(pooled).size(), 5U) << nodes_of(pooled)[0];
  const auto flat = [](const Integers& extents) {
    OnnxModel model = means();
    model.node("Flatten", {"p"}, {"f"});
    model.tensor("c", extents);
    model.node("Add", {"f", "c"}, {"a"});
    model.integers("axes", {2, 3, 4});
    model.node("Unsqueeze", {"a", "axes"}, {"g"});
    return nodes_of(model);
  };
  EXPECT_EQ(flat({1}).size(), 3U);
  EXPECT_EQ(flat({4}).size(), 3U);
  EXPECT_EQ(flat({1, 4}).size(), 3U);
  EXPECT_THAT(flat({4, 1}), ElementsAre(HasSubstr("constant 'c' is neither one number nor one per channel (4)")));
  EXPECT_THAT(flat({4, 1, 1, 1}), ElementsAre(HasSubstr("is neither one number nor one per channel (4)")));
  EXPECT_THAT(flat({2}), ElementsAre(HasSubstr("is neither one number nor one per channel (4)")));
}

TEST(OnnxPooled, ConcatenationsOfPooledTensorsOnly) {
  OnnxModel both = means();
  both.node("GlobalMaxPool", {"in"}, {"q"});
  test::set_integer(both.node("Concat", {"p", "q"}, {"c"}), "axis", 1);
  both.conv("c", "g", 8, 4, {1, 1, 1});
  EXPECT_EQ(nodes_of(both).size(), 5U);
  OnnxModel flat = means();
  flat.node("Flatten", {"p"}, {"f"});
  flat.node("Softmax", {"f"}, {"s"});
  test::set_integer(flat.node("Concat", {"f", "s"}, {"c"}), "axis", -1);
  flat.tensor("w", {8, 4});
  flat.node("MatMul", {"c", "w"}, {"m"});
  flat.integers("axes", {2, 3, 4});
  flat.node("Unsqueeze", {"m", "axes"}, {"g"});
  EXPECT_EQ(nodes_of(flat).size(), 5U) << nodes_of(flat)[0];
  OnnxModel mixed = means();
  test::set_integer(mixed.node("Concat", {"p", "in"}, {"c"}), "axis", 1);
  mixed.conv("c", "g", 8, 4, {1, 1, 1});
  EXPECT_THAT(nodes_of(mixed), ElementsAre(HasSubstr("node '/c' (Concat): its input is pooled of all voxels")));
}

// Padding, windows and strides would see other voxels than the one that the file has.
TEST(OnnxPooled, WhatReadsNeighboursIsRefused) {
  OnnxModel wide = means();
  test::set_integers(wide.conv("p", "g", 4, 4, {3, 3, 3}), "pads", {1, 1, 1, 1, 1, 1});
  EXPECT_THAT(nodes_of(wide), ElementsAre(HasSubstr("node '/g' (Conv): its input is pooled of all voxels")));
  OnnxModel padded = means();
  test::set_integers(padded.conv("p", "g", 4, 4, {1, 1, 1}), "pads", {0, 0, 0, 1, 1, 1});
  EXPECT_THAT(nodes_of(padded), ElementsAre(HasSubstr("node '/g' (Conv): its input is pooled")));
  OnnxModel pool = means();
  test::set_integers(pool.node("MaxPool", {"p"}, {"g"}), "kernel_shape", {1, 1, 1});
  EXPECT_THAT(nodes_of(pool), ElementsAre(HasSubstr("node '/g' (MaxPool): its input is pooled")));
  OnnxModel again = means();
  again.node("GlobalMaxPool", {"p"}, {"g"});
  EXPECT_THAT(nodes_of(again), ElementsAre(HasSubstr("node '/g' (GlobalMaxPool): its input is pooled")));
  OnnxModel norm = means();
  norm.tensor("ones", {4});
  norm.node("InstanceNormalization", {"p", "ones", "ones"}, {"g"});
  EXPECT_THAT(nodes_of(norm), ElementsAre(HasSubstr("node '/g' (InstanceNormalization): its input is pooled")));
}

// Its only voxel may be written for each that was pooled; what reads it then may look at neighbours.
TEST(OnnxPooled, ExpandAndResizeToTheExtentsBefore) {
  const auto with = [](const Names& inputs, const Integers& numbers, const Integers& extents) -> std::string {
    OnnxModel model = means(13, extents);
    model.integers("numbers", numbers);
    const bool resizes = inputs.size() == 4;
    onnx::NodeProto& node = model.node(resizes ? "Resize" : "Expand", inputs, {"e"});
    if (resizes) test::set_text(node, "mode", "linear");
    model.conv("e", "g", 4, 4, {3, 3, 3});
    const std::string refusal = model.output("g").refusal();
    return refusal.empty() ? describe(model.read().network).back() : refusal;
  };
  const Integers extents = {1, 4, 6, 7, 8};
  const char* const refused = "is supported to the extents of those voxels alone";
  for (const Names& inputs : {Names{"p", "numbers"}, {"p", "", "", "numbers"}}) {
    EXPECT_EQ(with(inputs, extents, extents), "/g: conv 4 -> 4, k 3x3x3 <- /p");
    EXPECT_THAT(with(inputs, {1, 4, 6, 7, 9}, extents), HasSubstr(refused));
    EXPECT_THAT(with(inputs, {1, 4, 1, 7, 8}, extents), HasSubstr(refused));
    EXPECT_THAT(with(inputs, {4, 6, 7, 8}, extents), HasSubstr(refused));
    EXPECT_THAT(with(inputs, extents, {}), HasSubstr(refused));
    EXPECT_THAT(with(inputs, {1, 4, 1, 1, 1}, extents), HasSubstr("node '/g' (Conv): its input is pooled"));
  }
}

TEST(OnnxPooled, ExpandToTheShapeOfOpenExtents) {
  OnnxModel model = means();
  model.node("Shape", {"in"}, {"shape"});
  model.node("Expand", {"p", "shape"}, {"g"});
  EXPECT_EQ(nodes_of(model).size(), 2U) << nodes_of(model)[0];
}

// Shape sees the file's extents, of which one axis is 1.
TEST(OnnxPooled, ItsShapeIsOneVoxel) {
  OnnxModel model = means(13, {1, 4, 6, 7, 8});
  model.node("Shape", {"p"}, {"shape"});
  model.node("Expand", {"p", "shape"}, {"e"});
  model.conv("e", "g", 4, 4, {1, 1, 1});
  EXPECT_EQ(nodes_of(model).size(), 3U);
  EXPECT_THAT(nodes_of(model, "e"), ElementsAre(HasSubstr("global mean"), HasSubstr("multiply 4 <- in, /p")));
}

TEST(OnnxPooled, IsAnOutput) {
  OnnxModel model = means();
  EXPECT_THAT(describe(model.output("p").read().network), ElementsAre("/p: global mean 4 <- in"));
  OnnxModel classifier = means();
  classifier.tensor("w", {4, 2});
  classifier.node("Flatten", {"p"}, {"f"});
  classifier.node("MatMul", {"f", "w"}, {"m"});
  EXPECT_THAT(describe(classifier.output("m").read().network),
              ElementsAre("/p: global mean 4 <- in", "/m: conv 4 -> 2, k 1x1x1 <- /p"));
}

// Each has its voxel everywhere, whatever its axes.
TEST(OnnxPooled, IsOneOfSeveralOutputs) {
  OnnxModel model = means();
  model.node("GlobalMaxPool", {"in"}, {"q"});
  model.node("Flatten", {"q"}, {"f"});
  model.node("Relu", {"in"}, {"r"});
  const LoadedNetwork loaded = model.output("r").output("p").output("f").read();
  EXPECT_EQ(loaded.network.outputs, (std::vector<NamedTensor>{{"r", 4}, {"p", 4}, {"f", 4}}));
  EXPECT_THAT(describe(loaded.network).back(), HasSubstr("concat <- /r, /p, /q"));
}

TEST(OnnxPooled, AnActivationOfSeveralNodesStaysPooled) {
  OnnxModel model = means();
  model.node("Sigmoid", {"p"}, {"s"});
  model.node("Mul", {"p", "s"}, {"silu"});
  EXPECT_THAT(nodes_of(model, "silu"), ElementsAre("/p: global mean 4 <- in", "/silu: activation 4, silu <- /p",
                                                   "/out: multiply 4 <- in, /silu"));
  OnnxModel last = means();
  last.node("Sigmoid", {"p"}, {"s"});
  last.node("Mul", {"p", "s"}, {"silu"});
  EXPECT_EQ(describe(last.output("silu").read().network).back(), "/silu: activation 4, silu <- /p");
}

}  // namespace
}  // namespace znni
