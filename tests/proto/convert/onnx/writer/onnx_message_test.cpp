#include "proto/convert/onnx/writer/onnx_message.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/convert/onnx/graph/onnx_tensors.hpp"

namespace znni {
namespace {

using testing::ElementsAre;

TEST(ConvertOnnxMessage, NamesThatAreTakenGetANumber) {
  OnnxMessage message("net", 3, 17);
  EXPECT_EQ(message.free_name("a"), "a");
  EXPECT_EQ(message.free_name("a"), "a 2");
  EXPECT_EQ(message.free_name("a"), "a 3");
  EXPECT_EQ(message.integers("a 2", {1}), "a 2 2");
}

// To look from the first number on each time would take hours.
TEST(ConvertOnnxMessage, ManyEqualNames) {
  constexpr int names = 300'000;
  OnnxMessage message("net", 3, 17);
  EXPECT_EQ(message.free_name("a 7"), "a 7");
  std::string last;
  for (int i = 0; i < names; ++i) last = message.free_name("a");
  EXPECT_EQ(last, "a 300001");
}

TEST(ConvertOnnxMessage, NumbersAreKept) {
  OnnxMessage message("net", 2, 17);
  const std::vector<float> values = {1.5F, -2, 0x1p-149F, 3e38F};
  EXPECT_EQ(message.floats("w", {2, 2}, values), "w");
  message.integers("axes", {-1, std::int64_t{1} << 40});
  message.number("one", 1);
  const onnx::GraphProto& graph = message.model().graph();
  EXPECT_EQ(floats_of(graph.initializer(0)).value(), values);
  EXPECT_THAT(graph.initializer(0).dims(), ElementsAre(2, 2));
  EXPECT_THAT(integers_of(graph.initializer(1)).value(), ElementsAre(-1, std::int64_t{1} << 40));
  EXPECT_EQ(graph.initializer(2).dims_size(), 0);
}

TEST(ConvertOnnxMessage, TheFormatFollowsTheOperators) {
  EXPECT_EQ(OnnxMessage("net", 3, 17).model().ir_version(), 8);
  EXPECT_EQ(OnnxMessage("net", 3, 20).model().ir_version(), 9);
  EXPECT_EQ(OnnxMessage("net", 3, 21).model().ir_version(), 10);
}

TEST(ConvertOnnxMessage, TensorsAreDescribedByTheirSpatialAxes) {
  OnnxMessage message("net", 2, 17);
  message.describe_input("in", 3, {0, 0, 7});
  message.describe_output("out", 2);
  const onnx::TensorShapeProto& in = message.model().graph().input(0).type().tensor_type().shape();
  ASSERT_EQ(in.dim_size(), 4);
  EXPECT_EQ(in.dim(1).dim_value(), 3);
  EXPECT_EQ(in.dim(2).dim_param(), "Y");
  EXPECT_EQ(in.dim(3).dim_value(), 7);
  const onnx::TensorShapeProto& out = message.model().graph().output(0).type().tensor_type().shape();
  EXPECT_EQ(out.dim(3).dim_param(), "X_out");
}

TEST(ConvertOnnxMessage, NodesHaveAttributesAndOneOutput) {
  OnnxMessage message("net", 3, 17);
  onnx::NodeProto& node = message.node("Conv", "conv", {"in", "w"}, "out");
  set_integer(node, "group", 2);
  set_integers(node, "pads", spatial_numbers(Border{{1, 2, 3}, {4, 5, 6}}, 2));
  set_real(node, "alpha", 0.5F);
  set_text(node, "mode", "linear");
  EXPECT_EQ(node.output(0), "out");
  EXPECT_EQ(node.attribute(0).i(), 2);
  EXPECT_THAT(node.attribute(1).ints(), ElementsAre(2, 3, 5, 6));
  EXPECT_EQ(node.attribute(2).f(), 0.5F);
  EXPECT_EQ(node.attribute(3).s(), "linear");
}

}  // namespace
}  // namespace znni
