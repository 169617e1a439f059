#include "proto/convert/onnx/writer/onnx_written_operations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace znni {
namespace {

using testing::ElementsAre;

Convolution conv_of_3() { return {1, Vec3::cube(3), Vec3::cube(1), {}}; }

// Writes one operation that reads "x" of two channels and writes "y".
onnx::GraphProto graph_of(Operation operation, std::int64_t opset = 17, const Border& pads = {}, const Crop& crop = {},
                          OutsideKind pads_with = OutsideKind::zero) {
  OnnxMessage message("net", 3, opset);
  const Node node{"node", std::move(operation), {0}};
  const NodeWeights weights{std::vector<float>(54), {1, 2}, {3, 4}, {5, 6}};
  const Result<void> written = write_operation({node, weights, pads, pads_with, crop, {"x"}, 2, "y"}, message);
  EXPECT_TRUE(written) << written.error().message;
  return message.take().graph();
}

std::vector<std::string> operators_of(const onnx::GraphProto& graph) {
  std::vector<std::string> operators;
  for (const onnx::NodeProto& node : graph.node()) operators.push_back(node.op_type());
  return operators;
}

const onnx::AttributeProto* attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& each : node.attribute()) {
    if (each.name() == name) return &each;
  }
  return nullptr;
}

TEST(ConvertOnnxWrittenOperations, TheLastNodeWritesTheTensor) {
  for (const Operation& operation : std::vector<Operation>{conv_of_3(), Pooling{}, Activate{{ActivationKind::silu, 0}},
                                                           ScaleShift{}, GlobalPool{}, AcrossChannels{AcrossKind::norm},
                                                           AcrossChannels{AcrossKind::arg_max}, Upsample{}, Norm{2}}) {
    const onnx::GraphProto graph = graph_of(operation);
    ASSERT_GT(graph.node_size(), 0);
    EXPECT_EQ(graph.node(graph.node_size() - 1).output(0), "y");
    EXPECT_EQ(graph.node(0).input(0), "x");
  }
}

TEST(ConvertOnnxWrittenOperations, PadsStandInConvolutionsAndPoolings) {
  const Border pads{{1, 2, 3}, {4, 5, 6}};
  const onnx::GraphProto conv = graph_of(conv_of_3(), 17, pads);
  EXPECT_THAT(attribute(conv.node(0), "pads")->ints(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(attribute(conv.node(0), "strides"), nullptr);
  const onnx::GraphProto mean = graph_of(Pooling{PoolKind::average}, 17, pads);
  EXPECT_EQ(attribute(mean.node(0), "count_include_pad")->i(), 1);
  EXPECT_EQ(attribute(graph_of(Pooling{}, 17, pads).node(0), "count_include_pad"), nullptr);
}

TEST(ConvertOnnxWrittenOperations, ALayerNormIsWrittenOverTheChannels) {
  const onnx::GraphProto old = graph_of(AcrossChannels{AcrossKind::norm});
  EXPECT_THAT(operators_of(old), ElementsAre("ReduceMean", "Sub", "Mul", "ReduceMean", "Add", "Sqrt", "Div"));
  EXPECT_THAT(attribute(old.node(0), "axes")->ints(), ElementsAre(1));
  const onnx::GraphProto recent = graph_of(AcrossChannels{AcrossKind::norm}, 18);
  EXPECT_EQ(recent.node(0).input_size(), 2);
  EXPECT_EQ(attribute(recent.node(0), "axes"), nullptr);
}

TEST(ConvertOnnxWrittenOperations, NumbersOfChannelsBecomeFloats) {
  EXPECT_THAT(operators_of(graph_of(AcrossChannels{AcrossKind::arg_max})), ElementsAre("ArgMax", "Cast"));
  EXPECT_EQ(attribute(graph_of(AcrossChannels{AcrossKind::arg_max_last}).node(0), "select_last_index")->i(), 1);
}

TEST(ConvertOnnxWrittenOperations, ACropIsThatOfTheFile) {
  const onnx::GraphProto graph = graph_of(Crop{Vec3::cube(9), Vec3::cube(9)}, 17, {}, {{1, 0, 2}, {0, 3, 0}});
  EXPECT_THAT(operators_of(graph), ElementsAre("Slice"));
  EXPECT_EQ(graph.initializer(0).name(), "node.starts");
}

// The numbers of the tensor "node.pads".
std::vector<std::int64_t> pads_of(const onnx::GraphProto& graph) {
  const onnx::TensorProto& tensor = graph.initializer(0);
  EXPECT_EQ(tensor.name(), "node.pads");
  std::vector<std::int64_t> numbers(tensor.raw_data().size() / sizeof(std::int64_t));
  std::memcpy(numbers.data(), tensor.raw_data().data(), tensor.raw_data().size());
  return numbers;
}

TEST(ConvertOnnxWrittenOperations, ACropThatPadsCopiesVoxels) {
  for (const OutsideKind kind : {OutsideKind::edge, OutsideKind::reflect}) {
    const Crop crop{{-1, 0, -2}, {0, -3, 0}};
    const onnx::GraphProto graph = graph_of(Crop{Vec3::cube(9), Vec3::cube(9)}, 17, {}, crop, kind);
    EXPECT_THAT(operators_of(graph), ElementsAre("Pad"));
    EXPECT_EQ(attribute(graph.node(0), "mode")->s(), kind == OutsideKind::edge ? "edge" : "reflect");
    EXPECT_THAT(pads_of(graph), ElementsAre(0, 0, 1, 0, 2, 0, 0, 0, 3, 0));
  }
}

TEST(ConvertOnnxWrittenOperations, AConvolutionThatReflectsReadsAPad) {
  const onnx::GraphProto graph = graph_of(conv_of_3(), 17, {{1, 2, 3}, {4, 5, 6}}, {}, OutsideKind::reflect);
  EXPECT_THAT(operators_of(graph), ElementsAre("Pad", "Conv"));
  EXPECT_EQ(attribute(graph.node(0), "mode")->s(), "reflect");
  EXPECT_THAT(pads_of(graph), ElementsAre(0, 0, 1, 2, 3, 0, 0, 4, 5, 6));
  EXPECT_EQ(attribute(graph.node(1), "pads"), nullptr);
  EXPECT_EQ(graph.node(1).input(0), graph.node(0).output(0));
  EXPECT_THAT(operators_of(graph_of(conv_of_3(), 17, {}, {}, OutsideKind::reflect)), ElementsAre("Conv"));
}

TEST(ConvertOnnxWrittenOperations, NewOperatorsAskForTheirVersion) {
  Network network;
  network.f_in = 4;
  network.nodes = {{"a", Activate{{ActivationKind::relu, 0}}, {0}}};
  EXPECT_EQ(opset_of(network), 17);
  network.nodes.push_back({"b", Activate{{ActivationKind::mish, 0}}, {1}});
  EXPECT_EQ(opset_of(network), 18);
  network.nodes.push_back({"c", Activate{{ActivationKind::gelu, 0}}, {2}});
  EXPECT_EQ(opset_of(network), 20);
  network.nodes.push_back({"d", Norm{4}, {3}});
  EXPECT_EQ(opset_of(network), 20);
  network.nodes.push_back({"e", Norm{2}, {4}});
  EXPECT_EQ(opset_of(network), 21);
}

TEST(ConvertOnnxWrittenOperations, WhatFilesDoNotHaveIsRefused) {
  OnnxMessage message("net", 3, 17);
  const Node node{"node", Upsample{Vec3::cube(2), UpsampleKind::shuffle}, {0}};
  EXPECT_FALSE(write_operation({node, {}, {}, {}, {}, {"x"}, 8, "y"}, message));
  const Node sum{"sum", Add{}, {0, 1, 2}};
  EXPECT_FALSE(write_operation({sum, {}, {}, {}, {}, {"x", "y", "z"}, 8, "w"}, message));
}

}  // namespace
}  // namespace znni
