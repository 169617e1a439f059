#include "proto/convert/onnx/operators/onnx_turned.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

// Pools by 2, and upsamples y as tf2onnx writes it of Keras: a new axis behind y, copies along it, and a Reshape.
struct Copies {
  test::Integers at = {4};
  test::Integers repeats = {1, 1, 1, 1, 2, 1};
  test::Integers shape = {1, 2, -1, 8, 4};

  OnnxModel model() const {
    OnnxModel model(2);
    onnx::TensorShapeProto& dims =
        *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int i = 2; i < 5; ++i) dims.mutable_dim(i)->set_dim_value(8);
    onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"low"});
    test::set_integers(pool, "kernel_shape", {2, 2, 2});
    test::set_integers(pool, "strides", {2, 2, 2});
    model.integers("at", at);
    model.integers("repeats", repeats);
    model.integers("shape", shape);
    model.node("Unsqueeze", {"low", "at"}, {"six"});
    model.node("Tile", {"six", "repeats"}, {"copies"});
    model.node("Reshape", {"copies", "shape"}, {"out"});
    return std::move(model.output("out"));
  }
};

TEST(OnnxTurned, CopiesBehindAnAxisAreAnUpsampling) {
  const LoadedNetwork loaded = Copies{}.model().read();
  ASSERT_GE(loaded.network.nodes.size(), 2U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(Upsample{{1, 2, 1}}));
}

TEST(OnnxTurned, CopiesBeforeAnAxisAreRefused) {
  Copies before;
  before.at = {2};
  before.repeats = {1, 1, 2, 1, 1, 1};
  before.shape = {1, 2, 8, 4, 4};
  EXPECT_THAT(before.model().refusal(), HasSubstr("of transposed axes is not supported"));
  Copies of_channels;
  of_channels.at = {2};
  of_channels.repeats = {1, 1, 2, 1, 1, 1};
  of_channels.shape = {1, 4, 4, 4, 4};
  EXPECT_THAT(of_channels.model().refusal(), HasSubstr("of transposed axes is not supported"));
}

TEST(OnnxTurned, OnlyNewAxesAreCopied) {
  Copies other;
  other.repeats = {1, 1, 1, 2, 1, 1};
  EXPECT_THAT(other.model().refusal(), HasSubstr("repeats axis 3 2 times; only axes that Unsqueeze has added"));
  Copies many;
  many.repeats[4] = 257;
  EXPECT_THAT(many.model().refusal(), HasSubstr("up to 256 times"));
  Copies none;
  none.repeats[4] = 0;
  EXPECT_THAT(none.model().refusal(), HasSubstr("repeats axis 4 0 times"));
  Copies few;
  few.repeats.pop_back();
  EXPECT_THAT(few.model().refusal(), HasSubstr("has 5 repeats; 6 are right"));
}

// 256^8 is 0 in 64 bits.
TEST(OnnxTurned, MoreThan256CopiesAreRefused) {
  for (const std::size_t axes : {2U, 7U}) {
    Copies copies;
    copies.at.clear();
    copies.repeats = {1, 1, 1, 1};
    for (std::size_t i = 0; i < axes; ++i) {
      copies.at.push_back(4 + static_cast<std::int64_t>(i));
      copies.repeats.push_back(256);
    }
    copies.repeats.push_back(1);
    copies.shape = {1, 2, 4, -1, 4};
    EXPECT_THAT(copies.model().refusal(), HasSubstr("times; up to 256 times along an axis is supported"));
  }
}

TEST(OnnxTurned, OtherShapesAreRefused) {
  for (const test::Integers& shape : {test::Integers{1, 2, 4, 4, 8}, test::Integers{1, 2, 8, 4, 4},
                                      test::Integers{1, 2, 32, 4}, test::Integers{1, 2, 4, 8, 4, 2}}) {
    Copies copies;
    copies.shape = shape;
    EXPECT_THAT(copies.model().refusal(), HasSubstr("of transposed axes is not supported")) << shape.size();
  }
}

// Axes of one element, wherever they stand, change nothing.
TEST(OnnxTurned, AxesAreAddedAndTakenAway) {
  OnnxModel model(2);
  model.integers("added", {0, -1});
  model.integers("taken", {-1, 0});
  model.node("Unsqueeze", {"in", "added"}, {"seven"});
  test::set_integers(model.node("Transpose", {"seven"}, {"moved"}), "perm", {6, 1, 2, 3, 4, 5, 0});
  model.node("Squeeze", {"moved", "taken"}, {"five"});
  model.conv("five", "out", 2, 3, {2, 2, 2});
  EXPECT_EQ(model.output("out").read().network.nodes.size(), 1U);
}

TEST(OnnxTurned, AxesThatAreNotThereAreRefused) {
  const auto refusal = [](const char* operation, const test::Integers& axes) {
    OnnxModel model(2);
    model.integers("axes", axes);
    model.node(operation, {"in", "axes"}, {"other"});
    model.conv("other", "out", 2, 3, {2, 2, 2});
    return model.output("out").refusal();
  };
  EXPECT_THAT(refusal("Unsqueeze", {6}), HasSubstr("names axis 6 of a tensor with 6 axes"));
  EXPECT_THAT(refusal("Unsqueeze", {1, 1}), HasSubstr("names an axis twice"));
  EXPECT_THAT(refusal("Unsqueeze", {0, 1, 2, 3, 4, 5, 6, 7}), HasSubstr("makes 13 axes"));
  EXPECT_THAT(refusal("Unsqueeze", {0}), HasSubstr("is transposed"));
  EXPECT_THAT(refusal("Unsqueeze", {}), HasSubstr("names no axes"));
  EXPECT_THAT(refusal("Squeeze", {-6}), HasSubstr("names axis -6 of a tensor with 5 axes"));
  EXPECT_THAT(refusal("Squeeze", {1}), HasSubstr("axis 1 is not one that Unsqueeze has added, nor a single channel"));
  EXPECT_THAT(refusal("Squeeze", {}), HasSubstr("names no axes"));
}

TEST(OnnxTurned, TransposesThatRestoreTheOrderAreNames) {
  OnnxModel model(2);
  test::set_integers(model.node("Transpose", {"in"}, {"a"}), "perm", {0, 4, 3, 2, 1});
  test::set_integers(model.node("Transpose", {"a"}, {"b"}), "perm", {0, 4, 3, 2, 1});
  model.conv("b", "out", 2, 3, {2, 2, 2});
  EXPECT_EQ(model.output("out").read().network.nodes.size(), 1U);
}

}  // namespace
}  // namespace znni
