#include "proto/convert/onnx/operators/onnx_softmax.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

OnnxModel softmax_model(std::int64_t opset, int axes, std::optional<std::int64_t> axis) {
  OnnxModel model(2, axes, opset);
  onnx::NodeProto& node = model.node("Softmax", {"in"}, {"out"});
  if (axis) test::set_integer(node, "axis", *axis);
  return model.output("out");
}

std::string softmax_refusal(std::int64_t opset, int axes, std::optional<std::int64_t> axis) {
  return softmax_model(opset, axes, axis).refusal();
}

TEST(OnnxSoftmax, OverChannels) {
  const LoadedNetwork loaded = softmax_model(13, 3, 1).read();
  EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/out", AcrossChannels{}, {0}}}));
  EXPECT_EQ(softmax_refusal(13, 3, -4), "");
  EXPECT_EQ(softmax_refusal(13, 2, -3), "");
}

// Adds a LogSoftmax, or the logarithm of a Softmax.
void add_logarithm(OnnxModel& model, bool as_two, std::string_view in, std::string_view out, std::int64_t axis) {
  const std::string between = as_two ? "soft" : std::string(out);
  const onnx::NodeProto& node = model.node(as_two ? "Softmax" : "LogSoftmax", {std::string(in)}, {between});
  test::set_integer(const_cast<onnx::NodeProto&>(node), "axis", axis);
  if (as_two) model.node("Log", {between}, {std::string(out)});
}

TEST(OnnxSoftmax, LogarithmsOverChannels) {
  for (const bool as_two : {false, true}) {
    for (const std::int64_t axis : {1, -4}) {
      OnnxModel model(2);
      add_logarithm(model, as_two, "in", "out", axis);
      const LoadedNetwork loaded = model.output("out").read();
      EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/out", AcrossChannels{AcrossKind::log_softmax}, {0}}}));
    }
    OnnxModel over_space(2);
    add_logarithm(over_space, as_two, "in", "out", 2);
    EXPECT_THAT(over_space.output("out").refusal(), HasSubstr("axis = 2 is not supported; only 1, the channels"));
  }
}

TEST(OnnxSoftmax, LogarithmsSummingOverVoxelsAreRefused) {
  for (const bool as_two : {false, true}) {
    OnnxModel model(2, 3, 12);
    add_logarithm(model, as_two, "in", "out", 1);
    EXPECT_THAT(model.output("out").refusal(), HasSubstr("in operator set 12 sums over the voxels"));
  }
}

TEST(OnnxSoftmax, LogarithmsBetweenTranspositions) {
  for (const bool as_two : {false, true}) {
    OnnxModel model(3);
    test::set_integers(model.node("Transpose", {"in"}, {"t"}), "perm", {0, 2, 3, 4, 1});
    add_logarithm(model, as_two, "t", "s", -1);
    test::set_integers(model.node("Transpose", {"s"}, {"out"}), "perm", {0, 4, 1, 2, 3});
    EXPECT_EQ(model.output("out").read().network.nodes,
              (std::vector<Node>{{"/s", AcrossChannels{AcrossKind::log_softmax}, {0}}}));
  }
}

TEST(OnnxSoftmax, ASoftmaxWithOtherReadersStays) {
  OnnxModel model(2);
  add_logarithm(model, true, "in", "log", 1);
  model.node("Add", {"soft", "log"}, {"out"});
  const std::vector<Node> nodes = model.output("out").read().network.nodes;
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0].operation, Operation(AcrossChannels{AcrossKind::softmax}));
  EXPECT_EQ(nodes[1].operation, Operation(AcrossChannels{AcrossKind::log_softmax}));
  EXPECT_EQ(nodes[1].inputs, std::vector<int>{0});
}

TEST(OnnxSoftmax, OtherLogarithmsAreRefused) {
  OnnxModel model(2);
  model.node("Log", {"in"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(),
              HasSubstr("node '/out' (Log): of something else than a Softmax is not supported"));
}

TEST(OnnxSoftmax, OverAnythingElseIsRefused) {
  EXPECT_THAT(softmax_refusal(13, 3, 4), HasSubstr("axis = 4 is not supported; only 1, the channels"));
  EXPECT_THAT(softmax_refusal(13, 3, std::nullopt), HasSubstr("axis = -1 is not supported"));
  EXPECT_THAT(softmax_refusal(13, 3, -3), HasSubstr("axis = -3 is not supported"));
  EXPECT_THAT(softmax_refusal(12, 3, 0), HasSubstr("axis = 0 is not supported"));
  EXPECT_THAT(softmax_refusal(12, 3, 2), HasSubstr("axis = 2 is not supported"));
}

TEST(OnnxSoftmax, SummingOverVoxelsIsRefused) {
  EXPECT_THAT(softmax_refusal(12, 3, 1), HasSubstr("node '/out' (Softmax): in operator set 12 sums over the voxels"));
  EXPECT_THAT(softmax_refusal(7, 3, std::nullopt), HasSubstr("export with operator set 13 or newer"));
}

// Returns the refusal of a Softmax of operator set 11 behind kernel 3, pooling 2 and kernel 2 along x (field of view 6,
// stride 2).
std::string refusal_for_extent(std::int64_t n, std::int64_t last_kernel = 1) {
  OnnxModel model(1, 1, 11);
  onnx::TypeProto::Tensor* type = model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  if (n > 0) type->mutable_shape()->mutable_dim(2)->set_dim_value(n);
  model.conv("in", "a", 1, 2, {3});
  onnx::NodeProto& pool = model.node("MaxPool", {"a"}, {"p"});
  test::set_integers(pool, "kernel_shape", {2});
  test::set_integers(pool, "strides", {2});
  model.conv("p", "b", 2, 3, {2});
  model.node("Softmax", {"b"}, {"s"});
  model.conv("s", "out", 3, 1, {last_kernel});
  return model.output("out").refusal();
}

TEST(OnnxSoftmax, OfOneVoxelIsOverChannels) {
  EXPECT_EQ(refusal_for_extent(6), "");
  EXPECT_EQ(refusal_for_extent(7), "") << "the pooling leaves the last one out";
  EXPECT_THAT(refusal_for_extent(8), HasSubstr("unless the net's input has the extent of one window, 1x1x6"));
  EXPECT_THAT(refusal_for_extent(5), HasSubstr("(Softmax)"));
  EXPECT_THAT(refusal_for_extent(0), HasSubstr("(Softmax)")) << "free extents may be anything";
  EXPECT_THAT(refusal_for_extent(8, 2), HasSubstr("one window, 1x1x8")) << "two voxels, which a layer then joins";
}

// Returns a model with a Softmax over an axis between two transpositions.
OnnxModel turned_model(std::int64_t opset, const test::Integers& there, std::int64_t axis, const test::Integers& back) {
  OnnxModel model(3, 3, opset);
  test::set_integers(model.node("Transpose", {"in"}, {"t"}), "perm", there);
  test::set_integer(model.node("Softmax", {"t"}, {"s"}), "axis", axis);
  test::set_integers(model.node("Transpose", {"s"}, {"out"}), "perm", back);
  return model.output("out");
}

TEST(OnnxSoftmax, BetweenTranspositions) {
  const test::Integers swap = {0, 4, 2, 3, 1};  // as PyTorch
  const test::Integers last = {0, 2, 3, 4, 1};  // as TensorFlow
  const test::Integers first = {0, 4, 1, 2, 3};
  for (const std::int64_t opset : {9, 11, 12, 13}) {
    const LoadedNetwork loaded = turned_model(opset, swap, 4, swap).read();
    EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/s", AcrossChannels{}, {0}}})) << opset;
    EXPECT_EQ(turned_model(opset, last, -1, first).refusal(), "") << opset;
  }
}

TEST(OnnxSoftmax, OtherTranspositionsAreRefused) {
  const test::Integers swap = {0, 4, 2, 3, 1};
  EXPECT_THAT(turned_model(11, swap, 1, swap).refusal(), HasSubstr("transposed input: axis = 1 is not supported"));
  EXPECT_THAT(turned_model(11, {0, 2, 1, 3, 4}, 2, {0, 2, 1, 3, 4}).refusal(), HasSubstr("axis = 2"))
      << "sums over y and x";
  EXPECT_EQ(turned_model(13, {0, 2, 1, 3, 4}, 2, {0, 2, 1, 3, 4}).refusal(), "");
  EXPECT_THAT(turned_model(13, swap, 4, {0, 1, 2, 3, 4}).refusal(), HasSubstr("the output 'out' is transposed"));
  EXPECT_THAT(turned_model(13, {0, 1, 2, 3}, 1, swap).refusal(), HasSubstr("perm has 4 axes; 5 are right"));
  EXPECT_THAT(turned_model(13, {0, 1, 1, 3, 4}, 1, swap).refusal(), HasSubstr("perm does not hold each axis once"));
  EXPECT_THAT(turned_model(13, {0, 1, 2, 3, 5}, 1, swap).refusal(), HasSubstr("perm holds 5, which is no axis"));
}

TEST(OnnxSoftmax, NothingElseReadsTransposedTensors) {
  OnnxModel model(3);
  test::set_integers(model.node("Transpose", {"in"}, {"t"}), "perm", {0, 4, 2, 3, 1});
  model.node("Relu", {"t"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("input 't' is transposed, which is not supported here"));
}

TEST(OnnxSoftmax, TranspositionsWithoutEffectAreGone) {
  OnnxModel model(3);
  test::set_integers(model.node("Transpose", {"in"}, {"t"}), "perm", {0, 2, 3, 4, 1});
  test::set_integers(model.node("Transpose", {"t"}, {"u"}), "perm", {0, 4, 1, 2, 3});
  model.node("Relu", {"u"}, {"out"});
  EXPECT_EQ(model.output("out").read().network.nodes.size(), 1U);
}

}  // namespace
}  // namespace znni
