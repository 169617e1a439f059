#include "proto/convert/onnx/tokens/onnx_attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <span>

#include "tests/proto/convert/onnx/tokens/token_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using test::token_model;
using test::with_voxels;
using testing::ElementsAre;
using testing::HasSubstr;

// Adds queries, keys and values of two heads, [1, 2, 24, 2], of one linear layer of 4 channels: "q", "k" and "v".
void add_heads(OnnxModel& model) {
  model.tensor("w", {4, 12});
  model.integers("split", {1, 24, 3, 2, 2});
  model.node("MatMul", {"t", "w"}, {"qkv"});
  model.node("Reshape", {"qkv", "split"}, {"five"});
  test::set_integers(model.node("Transpose", {"five"}, {"first"}), "perm", {2, 0, 3, 1, 4});
  for (const auto& [name, place] : {std::pair{"q", 0}, {"k", 1}, {"v", 2}}) {
    const std::string index = std::string("at_") + name;
    model.integer(index, place);
    test::set_integer(model.node("Gather", {"first", index}, {name}), "axis", 0);
  }
}

// Adds attention of these; "a" has the tokens of its output.
void add_attention(OnnxModel& model, std::int64_t softmax_axis = -1) {
  model.tensor("scale", {}, {0.5F});
  model.integers("joined", {1, 24, 4});
  test::set_integers(model.node("Transpose", {"k"}, {"kt"}), "perm", {0, 1, 3, 2});
  model.node("MatMul", {"q", "kt"}, {"scores"});
  model.node("Mul", {"scores", "scale"}, {"scaled"});
  test::set_integer(model.node("Softmax", {"scaled"}, {"shares"}), "axis", softmax_axis);
  model.node("MatMul", {"shares", "v"}, {"heads"});
  test::set_integers(model.node("Transpose", {"heads"}, {"again"}), "perm", {0, 2, 1, 3});
  model.node("Reshape", {"again", "joined"}, {"a"});
}

TEST(OnnxAttention, OfOneLinearLayerIsOneLayer) {
  OnnxModel model = token_model(4);
  add_heads(model);
  add_attention(model);
  const LoadedNetwork loaded = with_voxels(model, "a", 4).read();
  ASSERT_EQ(loaded.network.nodes.size(), 5U);
  EXPECT_EQ(loaded.network.nodes[4].operation, Operation(Attention{2, 0.5F}));
  EXPECT_THAT(loaded.network.nodes[4].inputs, ElementsAre(2, 3, 4));
  // Row i of the matrix is 12 i, 12 i + 1, ...; channels 4 and 8 begin keys and values.
  for (std::size_t part = 0; part < 3; ++part) {
    EXPECT_EQ(loaded.network.nodes[part + 1].operation, Operation(Convolution{4, Vec3::cube(1), Vec3::cube(1), {}}));
    const float first = 4.0F * static_cast<float>(part);
    EXPECT_THAT(std::span(loaded.weights[part + 1].kernels).first(4),
                ElementsAre(first, first + 12, first + 24, first + 36));
  }
}

TEST(OnnxAttention, ByEinsumIsTheSame) {
  OnnxModel model = token_model(4);
  add_heads(model);
  model.integers("joined", {1, 24, 4});
  test::set_text(model.node("Einsum", {"q", "k"}, {"scores"}), "equation", "blxd, blyd -> blxy");
  test::set_integer(model.node("Softmax", {"scores"}, {"shares"}), "axis", 3);
  test::set_text(model.node("Einsum", {"shares", "v"}, {"heads"}), "equation", "bhxy,bhyd->bxhd");
  model.node("Reshape", {"heads", "joined"}, {"a"});
  const LoadedNetwork loaded = with_voxels(model, "a", 4).read();
  EXPECT_EQ(loaded.network.nodes.back().operation, Operation(Attention{2, 1.0F}));
}

TEST(OnnxAttention, OtherUsesOfScoresAreRefused) {
  const auto refusal = [](const std::function<void(OnnxModel&)>& add) {
    OnnxModel model = token_model(4);
    add_heads(model);
    test::set_integers(model.node("Transpose", {"k"}, {"kt"}), "perm", {0, 1, 3, 2});
    model.node("MatMul", {"q", "kt"}, {"scores"});
    add(model);
    return model.output("r").refusal();
  };
  EXPECT_THAT(refusal([](OnnxModel& model) { model.node("Relu", {"scores"}, {"r"}); }),
              HasSubstr("reads scores of attention, which is not supported"));
  EXPECT_THAT(refusal([](OnnxModel& model) {
                model.node("MatMul", {"scores", "v"}, {"r"});
              }),
              HasSubstr("without a softmax is not supported"));
  EXPECT_THAT(refusal([](OnnxModel& model) { test::set_integer(model.node("Softmax", {"scores"}, {"r"}), "axis", 2); }),
              HasSubstr("over other than their last axis, the keys, is not supported"));
  EXPECT_THAT(refusal([](OnnxModel& model) {
                test::set_text(model.node("Einsum", {"q", "k"}, {"r"}), "equation", "abcd,abcd->ab");
              }),
              HasSubstr("is not supported; only products of attention"));
}

// A number for each token and channel, as position embeddings have them.
TEST(OnnxAttention, PositionsAreAVolume) {
  OnnxModel model = token_model(2);
  std::vector<float> numbers(48);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  model.tensor("place", {1, 24, 2}, numbers);
  model.node("Add", {"t", "place"}, {"a"});
  const LoadedNetwork loaded = with_voxels(model, "a", 2).read();
  ASSERT_EQ(loaded.network.nodes.size(), 2U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(AddVolume{{2, 3, 4}}));
  EXPECT_THAT(std::span(loaded.weights[1].shift).first(3), ElementsAre(0, 2, 4));
  EXPECT_EQ(loaded.network.window, (Vec3{2, 3, 4}));
}

}  // namespace
}  // namespace znni
