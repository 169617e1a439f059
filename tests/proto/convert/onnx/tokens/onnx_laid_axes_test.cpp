#include "proto/convert/onnx/tokens/onnx_laid_axes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/tokens/token_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using test::token_model;
using test::with_voxels;
using testing::HasSubstr;

const std::vector<Node> relu_alone = {{"/x", Activate{{ActivationKind::relu}}, {0}}};

TEST(OnnxLaidAxes, TokensAndBackAreNothing) {
  OnnxModel model = token_model(6);
  EXPECT_EQ(with_voxels(model, "t", 6).read().network.nodes, relu_alone);
}

TEST(OnnxLaidAxes, HeadsAndBackAreNothing) {
  OnnxModel model = token_model(6);
  model.integers("split", {0, 24, 3, -1});
  model.integers("axes", {0, 3});
  model.integers("joined", {1, 24, 6});
  model.node("Reshape", {"t", "split"}, {"heads"});
  test::set_integers(model.node("Transpose", {"heads"}, {"turned_heads"}), "perm", {0, 2, 1, 3});
  model.node("Unsqueeze", {"turned_heads", "axes"}, {"more"});
  model.node("Squeeze", {"more", "axes"}, {"less"});
  model.node("Identity", {"less"}, {"same"});
  test::set_integers(model.node("Transpose", {"same"}, {"again"}), "perm", {0, 2, 1, 3});
  model.node("Reshape", {"again", "joined"}, {"tokens"});
  EXPECT_EQ(with_voxels(model, "tokens", 6).read().network.nodes, relu_alone);
}

// Its shape is what the file would compute.
TEST(OnnxLaidAxes, TheShapeOfTokensIsKnown) {
  OnnxModel model = token_model(6);
  model.node("Shape", {"t"}, {"shape"});
  model.node("Reshape", {"t", "shape"}, {"same"});
  EXPECT_EQ(with_voxels(model, "same", 6).read().network.nodes, relu_alone);
}

TEST(OnnxLaidAxes, OnePlaceOfThreeIsAPart) {
  for (const std::int64_t place : {1, -2}) {
    OnnxModel model = token_model(6);
    model.integers("split", {1, 24, 3, 2});
    model.node("Reshape", {"t", "split"}, {"three"});
    onnx::TensorProto& index = model.integers("place", {place});
    index.clear_dims();
    test::set_integer(model.node("Gather", {"three", "place"}, {"part"}), "axis", 2);
    model.node("Relu", {"part"}, {"r"});
    const LoadedNetwork loaded = with_voxels(model, "r", 2).read();
    ASSERT_EQ(loaded.network.nodes.size(), 3U);
    EXPECT_EQ(loaded.weights[1].kernels, (std::vector<float>{0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0}));
  }
}

TEST(OnnxLaidAxes, ASliceOfChannelsIsAPart) {
  OnnxModel model = token_model(6);
  for (const auto& [name, bound] : {std::pair{"begin", 4}, {"end", 99}, {"axis", -1}}) model.integers(name, {bound});
  model.node("Slice", {"t", "begin", "end", "axis"}, {"part"});
  model.node("Relu", {"part"}, {"r"});
  EXPECT_EQ(with_voxels(model, "r", 2).read().network.nodes.size(), 3U);
}

TEST(OnnxLaidAxes, PartsOfVoxelsAreRefused) {
  OnnxModel model = token_model(6);
  test::set_integer(model.node("Split", {"t"}, {"a", "b"}), "axis", 1);
  model.node("Relu", {"b"}, {"r"});
  EXPECT_THAT(model.output("r").refusal(), HasSubstr("takes a part along axis 1 that is not one of channels"));
}

TEST(OnnxLaidAxes, WrongShapesAreErrors) {
  const auto refusal = [](const test::Integers& target) {
    OnnxModel model = token_model(6);
    model.integers("target", target);
    model.node("Reshape", {"t", "target"}, {"r"});
    return model.output("r").refusal();
  };
  EXPECT_THAT(refusal({1, 5, -1}), HasSubstr("does not keep the number of elements"));
  EXPECT_THAT(refusal({1, -1, -1}), HasSubstr("is no shape"));
  EXPECT_THAT(refusal({1, 16, 9}), HasSubstr("cuts channels and voxels in another order"));
}

}  // namespace
}  // namespace znni
