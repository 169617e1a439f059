#include "proto/convert/onnx/graph/onnx_channels_last.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

// Returns an input [1][8][9][10][f], or of any extents.
OnnxModel keras(std::int64_t f, bool fixed = true) {
  OnnxModel model(f);
  onnx::TensorShapeProto& shape =
      *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.clear_dim();
  shape.add_dim()->set_dim_value(1);
  for (const std::int64_t extent : {8, 9, 10}) {
    onnx::TensorShapeProto::Dimension& dim = *shape.add_dim();
    if (fixed) dim.set_dim_value(extent);
  }
  shape.add_dim()->set_dim_value(f);
  return model;
}

// Returns a model whose channels are brought to the front, convolved, and brought to the end again.
OnnxModel transposed(std::int64_t f, bool fixed = true) {
  OnnxModel model = keras(f, fixed);
  test::set_integers(model.node("Transpose", {"in"}, {"first"}), "perm", {0, 4, 1, 2, 3});
  model.conv("first", "conv", f, 2, {2, 2, 2});
  test::set_integers(model.node("Transpose", {"conv"}, {"out"}), "perm", {0, 2, 3, 4, 1});
  return std::move(model.output("out"));
}

TEST(OnnxChannelsLast, ATransposeBringsThemToTheFront) {
  for (const bool fixed : {true, false}) {
    const LoadedNetwork loaded = transposed(3, fixed).read();
    EXPECT_EQ(loaded.network.f_in, 3);
    ASSERT_EQ(loaded.network.nodes.size(), 1U);
    EXPECT_EQ(channels_of(loaded.network).back(), 2);
    EXPECT_EQ(loaded.network.output_name, "out");
  }
}

TEST(OnnxChannelsLast, OfASingleOneAReshapeDoes) {
  OnnxModel model = keras(1);
  model.integers("first shape", {1, 1, 8, 9, 10});
  model.integers("last shape", {1, 7, 8, 9, 1});
  model.node("Reshape", {"in", "first shape"}, {"first"});
  model.conv("first", "conv", 1, 1, {2, 2, 2});
  model.node("Reshape", {"conv", "last shape"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  EXPECT_EQ(loaded.network.f_in, 1);
  EXPECT_EQ(loaded.network.nodes.size(), 1U);
}

// tf2onnx writes this for open extents.
TEST(OnnxChannelsLast, OfASingleOneWithOpenExtentsAxesAreAddedAndTakenAway) {
  OnnxModel model = keras(1, false);
  model.integers("0", {0});
  model.integers("first shape", {-1, 1, 0, 0, 0});
  model.integers("last shape", {1, -1, 0, 0, 0, 1});
  model.node("Unsqueeze", {"in", "0"}, {"six"});
  model.node("Reshape", {"six", "first shape"}, {"first"});
  model.conv("first", "conv", 1, 1, {2, 2, 2});
  model.node("Reshape", {"conv", "last shape"}, {"six again"});
  model.node("Squeeze", {"six again", "0"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  EXPECT_EQ(loaded.network.f_in, 1);
  EXPECT_EQ(loaded.network.nodes.size(), 1U);
}

TEST(OnnxChannelsLast, SeveralOutputsAreJoinedByTheirChannels) {
  OnnxModel model = transposed(2);
  model.conv("first", "more", 2, 3, {2, 2, 2});
  test::set_integers(model.node("Transpose", {"more"}, {"second"}), "perm", {0, 2, 3, 4, 1});
  const LoadedNetwork loaded = model.output("second").read();
  ASSERT_EQ(loaded.network.outputs.size(), 2U);
  EXPECT_EQ(loaded.network.outputs[0], (NamedTensor{"out", 2}));
  EXPECT_EQ(loaded.network.outputs[1], (NamedTensor{"second", 3}));
}

// PyTorch's nets that begin so: the first convolution says which axis the channels are.
TEST(OnnxChannelsLast, ChannelsThatAreFirstStayThere) {
  OnnxModel softmax(4, 1);
  test::set_integers(softmax.node("Transpose", {"in"}, {"t"}), "perm", {0, 2, 1});
  test::set_integer(softmax.node("Softmax", {"t"}, {"s"}), "axis", 2);
  test::set_integers(softmax.node("Transpose", {"s"}, {"back"}), "perm", {0, 2, 1});
  softmax.conv("back", "out", 4, 2, {3});
  EXPECT_EQ(softmax.output("out").read().network.f_in, 4);
  OnnxModel flat(4, 2);
  onnx::TensorShapeProto& shape =
      *flat.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(2)->set_dim_value(16);
  shape.mutable_dim(3)->set_dim_value(1);
  flat.integers("same", {1, 4, 16, 1});
  flat.node("Reshape", {"in", "same"}, {"reshaped"});
  flat.conv("reshaped", "out", 4, 2, {3, 1});
  EXPECT_EQ(flat.output("out").read().network.f_in, 4);
}

TEST(OnnxChannelsLast, OtherOrdersAreRefused) {
  OnnxModel mirrored = transposed(3);
  onnx::NodeProto& back = *mirrored.proto.mutable_graph()->mutable_node(2);
  back.clear_attribute();
  test::set_integers(back, "perm", {0, 4, 3, 2, 1});
  EXPECT_THAT(mirrored.refusal(), HasSubstr("the output 'out' is transposed or reshaped; only [N, C, Z, Y, X] and"));
  OnnxModel both = transposed(9);  // the convolution reads the input as it is, too
  both.conv("in", "direct", 8, 2, {1, 1, 1});
  EXPECT_THAT(both.output("direct").refusal(), HasSubstr("input 'first' is transposed"));
}

}  // namespace
}  // namespace znni
