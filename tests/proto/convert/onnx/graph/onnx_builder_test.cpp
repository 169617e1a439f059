#include "proto/convert/onnx/graph/onnx_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

TEST(OnnxBuilder, ValuesGrowNodeByNode) {
  OnnxModel model(3);
  model.tensor("c", {3});
  model.node("Add", {"in", "c"}, {"a"});
  model.node("Relu", {"a", ""}, {"b"});
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("b").proto);
  ASSERT_TRUE(graph);
  const onnx::NodeProto& sum = *graph->nodes[0];
  const onnx::NodeProto& relu = *graph->nodes[1];
  OnnxBuilder builder(*graph, 3, 3, 100);
  EXPECT_EQ(builder.opset(), 13);
  EXPECT_EQ(*builder.value(sum, 0), 0);
  EXPECT_EQ(builder.value(sum, 1).error().message, "input 'c' is a constant, which is not supported here");
  EXPECT_EQ(builder.value(sum, 2).error().message, "input 2 is missing");
  EXPECT_EQ(builder.vector(sum, 1, 3)->size(), 3U);
  EXPECT_THAT(builder.vector(sum, 1, 4).error().message, HasSubstr("has 3 elements; one per channel, 4, is right"));
  EXPECT_THAT(builder.vector(sum, 0, 3).error().message, HasSubstr("input 'in' is computed"));
  EXPECT_FALSE(builder.value(relu, 0));
  EXPECT_FALSE(OnnxBuilder::has_input(relu, 1));

  builder.append(sum, ScaleShift{}, {0}, 3);
  EXPECT_EQ(*builder.value(relu, 0), 1);
  EXPECT_EQ(builder.channels(1), 3);
  builder.alias(relu, 1);
  EXPECT_EQ(builder.value_of("b"), 1);
  EXPECT_EQ(builder.value_of("nobody"), -1);
  EXPECT_TRUE(builder.check_limits());
}

TEST(OnnxBuilder, OutputsOfARefusedNodeHaveTheFormOfAnotherTensorOrAnUnknownOne) {
  OnnxModel model(3);
  onnx::TensorShapeProto& shape =
      *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int axis = 2; axis < 5; ++axis) shape.mutable_dim(axis)->set_dim_value(7);
  model.node("Einsum", {"in"}, {"a", "b", ""});
  model.node("Add", {"a", "b"}, {"c"});
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("c").proto);
  ASSERT_TRUE(graph);
  const onnx::NodeProto& refused = *graph->nodes[0];
  const onnx::NodeProto& reader = *graph->nodes[1];
  OnnxBuilder unknown(*graph, 3, 3, 100);
  unknown.refuse(refused, "");
  EXPECT_EQ(*unknown.value(reader, 0), 1);
  EXPECT_EQ(*unknown.value(reader, 1), 2);
  EXPECT_EQ(unknown.channels(2), unknown_channels);
  EXPECT_EQ(unknown.extents(2), VolumeExtents{});
  EXPECT_TRUE(unknown.is_guessed(2));
  unknown.append(reader, Add{}, {0, 2}, 3, NodeWeights{{}, {}, std::vector<float>(101), {}});
  EXPECT_TRUE(unknown.is_guessed(3));
  EXPECT_TRUE(unknown.weights().back().scale.empty());
  EXPECT_TRUE(unknown.check_limits());
  EXPECT_TRUE(unknown.is_refused_for_all());
  EXPECT_FALSE(unknown.reads_guess(reader));
  unknown.guess_numbers(refused);
  EXPECT_TRUE(unknown.is_guessed_number("b"));
  EXPECT_TRUE(unknown.reads_guess(reader));
  EXPECT_TRUE(unknown.is_guessed(unknown.value_of("b")));
  EXPECT_FALSE(unknown.guess_reader(refused));
  EXPECT_TRUE(unknown.guess_reader(reader));
  EXPECT_TRUE(unknown.is_guessed(unknown.value_of("c")));
  OnnxBuilder known(*graph, 3, 3, 100);
  ASSERT_TRUE(known.known().set("n", {KnownKind::integer, {}, {{{20, {4, 0, 0}}, 0}}}));
  known.refuse(refused, "in");
  EXPECT_FALSE(known.is_refused_for_all());
  EXPECT_EQ(known.channels(1), 3);
  EXPECT_EQ(known.extents(1).least, Vec3::cube(7));
  EXPECT_FALSE(known.is_guessed(1));
}

TEST(OnnxBuilder, TensorsGetFurtherNames) {
  OnnxModel model(3);
  model.tensor("c", {3});
  model.tensor("large", {65, 64});
  model.node("Relu", {"in"}, {"a"});
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("a").proto);
  ASSERT_TRUE(graph);
  OnnxBuilder builder(*graph, 3, 3, 100);
  ASSERT_TRUE(builder.known().set_sequence("s", {known_integer(7)}));
  builder.turn(*graph->nodes[0], {0, {0, 2, 3, 4, 1}});
  onnx::NodeProto grouping;
  grouping.add_output("g");
  builder.group(grouping, {0, 3});
  for (const char* name : {"in", "c", "s", "a", "g"})
    EXPECT_TRUE(builder.pass_on(name, std::string(name) + "2")) << name;
  EXPECT_EQ(builder.value_of("in2"), 0);
  EXPECT_EQ(builder.known().find("c2")->elements.size(), 3U);
  EXPECT_EQ(builder.known().sequence("s2")->size(), 1U);
  EXPECT_EQ(builder.turned("a2")->axes.size(), 5U);
  EXPECT_EQ(builder.grouped("g2")->groups, 3);
  for (const char* name : {"in2", "c2", "s2", "a2", "g2", "c", "large"}) EXPECT_TRUE(builder.is_written(name)) << name;
  EXPECT_FALSE(builder.is_written("other"));
  EXPECT_EQ(builder.pass_on("in", "c2").error().message, "tensor 'c2' is written twice");
  EXPECT_THAT(builder.pass_on("large", "large2").error().message, HasSubstr("too large for a constant here"));
  EXPECT_THAT(builder.pass_on("other", "other2").error().message, HasSubstr("is no value of the net"));
}

TEST(OnnxBuilder, KnownTensorsStandForConstants) {
  OnnxModel model(3);
  model.node("Add", {"in", "c"}, {"a"});
  model.node("Relu", {"in"}, {"c"});
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("a").proto);
  ASSERT_TRUE(graph);
  const onnx::NodeProto& add = *graph->nodes[1];
  OnnxBuilder builder(*graph, 3, 3, 100);
  EXPECT_EQ(builder.constant(add, 1), nullptr);
  EXPECT_FALSE(builder.known_at(add, 1));
  ASSERT_TRUE(builder.known().set("c", known_integer(7)));
  EXPECT_EQ(builder.constant(add, 1)->int64_data(0), 7);
  EXPECT_EQ(builder.known_at(add, 1)->elements[0].whole.least, 7);
  EXPECT_TRUE(builder.is_known("c"));
  builder.known().forget("c");
  ASSERT_TRUE(builder.known().set("c", {KnownKind::integer, {}, {{{20, {4, 0, 0}}, 0}}}));
  EXPECT_EQ(builder.constant(add, 1), nullptr);
  EXPECT_THAT(builder.value(add, 1).error().message, HasSubstr("input 'c' is computed from extents"));
}

TEST(OnnxBuilder, ExtentsFollowAndMisfitsAreCounted) {
  OnnxModel model(1);
  model.node("Relu", {"in"}, {"a"});
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("a").proto);
  ASSERT_TRUE(graph);
  const onnx::NodeProto& node = *graph->nodes[0];
  OnnxBuilder builder(*graph, 3, 1, 100);
  EXPECT_EQ(builder.extents(0), VolumeExtents{});
  EXPECT_EQ(builder.batch(), 1);
  builder.leave_weights_out();
  builder.assume({{21, 24, 28}, {4, 2, 0}});
  const int pooled = builder.append_part(node, Pooling{}, 0, 1);
  EXPECT_EQ(builder.extents(pooled), (VolumeExtents{{10, 12, 14}, {2, 1, 0}}));
  EXPECT_EQ(builder.misfits().unread, (Vec3{1, 0, 0}));
  const int up = builder.append_part(node, Upsample{}, pooled, 1);
  builder.append(node, Concat{}, {0, up}, 2, NodeWeights{{}, {1}, {}, {}});
  EXPECT_EQ(builder.misfits().unmet, (Vec3{1, 0, 0}));
  EXPECT_TRUE(builder.weights().empty());
}

// The net keeps what c needs of in -> a -> b and a -> c.
TEST(OnnxBuilder, NodesThatTheOutputDoesNotNeedAreDropped) {
  OnnxModel model(1);
  model.node("Relu", {"in"}, {"a"});
  model.node("Tanh", {"a"}, {"b"});
  model.node("Add", {"b", "a"}, {"c"});
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("c").proto);
  ASSERT_TRUE(graph);
  OnnxBuilder builder(*graph, 3, 1, 100);
  const Border pads{Vec3::cube(1), {}};
  builder.append(*graph->nodes[0], ScaleShift{}, {0}, 1, NodeWeights{{}, {}, {2}, {}});
  builder.append(*graph->nodes[1], Crop{}, {1}, 5, NodeWeights{{}, {}, {3}, {}});
  builder.note_flattened(*graph->nodes[1]);
  builder.append(*graph->nodes[2], Add{}, {1}, 7, NodeWeights{{}, {}, {4}, {}}, pads);
  builder.note_flattened(*graph->nodes[2]);
  builder.drop_unread("other");
  EXPECT_EQ(builder.network().nodes.size(), 3U);
  builder.drop_unread("c");
  ASSERT_EQ(builder.network().nodes.size(), 2U);
  EXPECT_EQ(builder.network().nodes[1].name, "/c");
  EXPECT_EQ(builder.network().nodes[1].inputs, std::vector<int>{1});
  EXPECT_EQ(builder.value_of("a"), 1);
  EXPECT_EQ(builder.value_of("b"), -1);
  EXPECT_EQ(builder.value_of("c"), 2);
  EXPECT_EQ(builder.channels(2), 7);
  EXPECT_EQ(builder.weights()[1].scale, std::vector<float>{4});
  EXPECT_EQ(builder.pads(), (std::vector<Border>{{}, pads}));
  ASSERT_EQ(builder.flattened().size(), 1U);
  EXPECT_EQ(builder.flattened()[0].value, 2);
}

TEST(OnnxBuilder, LimitsOfChannelsAndParameters) {
  OnnxModel model;
  model.node("Relu", {"in"}, {"a"});
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("a").proto);
  ASSERT_TRUE(graph);
  OnnxBuilder channels(*graph, 3, 1, 100);
  channels.append(*graph->nodes[0], Concat{}, {0}, max_onnx_channels + 1);
  EXPECT_THAT(channels.check_limits().error().message, HasSubstr("writes 1048577 channels; at most 1048576"));
  OnnxBuilder parameters(*graph, 3, 1, 100);
  parameters.append(*graph->nodes[0], ScaleShift{}, {0}, 1, NodeWeights{{}, {}, std::vector<float>(101), {}});
  EXPECT_THAT(parameters.check_limits().error().message, HasSubstr("to 101 parameters; at most 100"));
}

TEST(OnnxBuilder, NumbersThatAreNotFiniteAreRefusedWithTheirPosition) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  OnnxModel model(2);
  model.conv("in", "a", 2, 3, {1, 1, 2});
  onnx::TensorProto& kernels = *model.proto.mutable_graph()->mutable_initializer(0);
  const auto set = [](onnx::TensorProto& tensor, std::size_t element, float value) {
    std::memcpy(tensor.mutable_raw_data()->data() + element * sizeof(value), &value, sizeof(value));
  };
  model.output("a");
  EXPECT_EQ(model.refusal(), "");
  set(kernels, 7, nan);
  EXPECT_THAT(model.refusal(), HasSubstr("tensor 'a.w': element [1, 1, 0, 0, 1] is nan as float32; finite numbers"));
  set(kernels, 7, 1);
  set(*model.proto.mutable_graph()->mutable_initializer(1), 2, -infinity);
  EXPECT_THAT(model.refusal(), HasSubstr("tensor 'a.b': element [2] is -inf as float32"));
}

// Many nodes share one tensor. A small file must not become a large net.
TEST(OnnxBuilder, SharedWeightsDoNotMultiplyWithoutEnd) {
  OnnxModel model(64);
  model.tensor("w", {64, 64, 5, 5, 5});
  std::string before = "in";
  for (int i = 0; i < 40; ++i) {
    const std::string name = test::numbered("n", i);
    model.node("Conv", {before, "w"}, {name});
    before = name;
  }
  EXPECT_THAT(model.output(before).refusal(), HasSubstr("plausible for a file of this size"));
}

TEST(OnnxBuilder, ChannelsDoNotMultiplyWithoutEnd) {
  OnnxModel model(1000);
  model.tensor("c", {1});
  std::string before = "in";
  for (int i = 0; i < 10; ++i) {
    const std::string name = test::numbered("n", i);
    onnx::NodeProto& node = model.node("Concat", test::Names(100, before), {name});
    test::set_integer(node, "axis", 1);
    before = name;
  }
  model.node("Mul", {before, "c"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("channels; at most 1048576 are supported"));
}

}  // namespace
}  // namespace znni
