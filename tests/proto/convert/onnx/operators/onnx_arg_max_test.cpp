#include "proto/convert/onnx/operators/onnx_arg_max.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

// Adds an ArgMax of "in" that writes "out".
onnx::NodeProto& add_arg_max(OnnxModel& model, std::int64_t axis, std::int64_t keepdims = 1, std::string_view in = "in",
                             std::string_view out = "out") {
  onnx::NodeProto& node = model.node("ArgMax", {std::string(in)}, {std::string(out)});
  test::set_integer(node, "axis", axis);
  test::set_integer(node, "keepdims", keepdims);
  return node;
}

std::string refusal(std::int64_t axis, std::int64_t keepdims = 1) {
  OnnxModel model(3);
  add_arg_max(model, axis, keepdims);
  return model.output("out").refusal();
}

std::vector<Node> one_node(std::string_view name, AcrossKind kind = AcrossKind::arg_max) {
  return {{std::string(name), AcrossChannels{kind}, {0}}};
}

TEST(OnnxArgMax, OverChannels) {
  for (const std::int64_t axis : {1, -4}) {
    for (const std::int64_t keepdims : {0, 1}) {
      OnnxModel model(3);
      add_arg_max(model, axis, keepdims);
      const Network network = model.output("out").read().network;
      EXPECT_EQ(network.nodes, one_node("/out"));
      EXPECT_EQ(channels_of(network).back(), 1);
    }
  }
}

TEST(OnnxArgMax, TakesTheLastOfEqualOnes) {
  OnnxModel model(3);
  test::set_integer(add_arg_max(model, 1), "select_last_index", 1);
  EXPECT_EQ(model.output("out").read().network.nodes, one_node("/out", AcrossKind::arg_max_last));
}

TEST(OnnxArgMax, OverAnythingElseIsRefused) {
  EXPECT_THAT(refusal(2), HasSubstr("node '/out' (ArgMax): axis = 2 is not supported; only that of the channels"));
  EXPECT_THAT(refusal(-1, 0), HasSubstr("axis = -1 is not supported"));
  EXPECT_THAT(refusal(7), HasSubstr("axis = 7 is not supported"));
  OnnxModel model(3);
  model.node("ArgMax", {"in"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("axis = 0 is not supported"));
}

TEST(OnnxArgMax, IsCastToTypesThatHoldItsNumbers) {
  const auto cast = [](std::int64_t f, std::int64_t keepdims, std::int64_t type) {
    OnnxModel model(f);
    add_arg_max(model, 1, keepdims, "in", "class");
    test::set_integer(model.node("Cast", {"class"}, {"out"}), "to", type);
    return model.output("out").refusal();
  };
  using onnx::TensorProto;
  for (const std::int64_t keepdims : {0, 1}) {
    for (const std::int64_t type : {TensorProto::FLOAT, TensorProto::UINT8, TensorProto::INT32, TensorProto::INT64}) {
      EXPECT_EQ(cast(3, keepdims, type), "") << type;
    }
    EXPECT_EQ(cast(128, keepdims, TensorProto::INT8), "");
    EXPECT_THAT(cast(129, keepdims, TensorProto::INT8), HasSubstr("of the numbers of 129 channels to type number 3"));
    EXPECT_EQ(cast(256, keepdims, TensorProto::UINT8), "");
    EXPECT_THAT(cast(257, keepdims, TensorProto::UINT8),
                HasSubstr("node '/out' (Cast): of the numbers of 257 channels"));
    EXPECT_THAT(cast(2, keepdims, TensorProto::BOOL), HasSubstr("to type number 9 is not supported"));
  }
}

// Whole numbers are divided otherwise than real ones.
TEST(OnnxArgMax, OnlyACastMakesItsNumbersReal) {
  for (const bool is_cast : {false, true}) {
    OnnxModel model(3);
    add_arg_max(model, 1, 1, "in", "class");
    model.node("Identity", {"class"}, {"same"});
    test::set_integer(model.node("Cast", {"same"}, {"number"}), "to",
                      is_cast ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT32);
    model.tensor("two", {1}, {2.0F});
    model.node("Div", {"number", "two"}, {"out"});
    const std::string found = model.output("out").refusal();
    EXPECT_EQ(found.empty(), is_cast);
    EXPECT_THAT(found,
                HasSubstr(is_cast ? "" : "node '/out' (Div): its input is whole numbers, as ArgMax writes them"));
  }
}

TEST(OnnxArgMax, OfChannelsThatAreLast) {
  for (const std::int64_t keepdims : {0, 1}) {
    OnnxModel model(3);
    test::set_integers(model.node("Transpose", {"in"}, {"t"}), "perm", {0, 2, 3, 4, 1});
    add_arg_max(model, -1, keepdims, "t");
    EXPECT_EQ(model.output("out").read().network.nodes, one_node("/out")) << keepdims;
  }
}

TEST(OnnxArgMax, GetsItsAxisBack) {
  OnnxModel model(3);
  add_arg_max(model, 1, 0, "in", "class");
  model.integers("axes", {1});
  model.node("Unsqueeze", {"class", "axes"}, {"again"});
  test::set_integer(model.node("Cast", {"again"}, {"number"}), "to", onnx::TensorProto::FLOAT);
  model.conv("number", "out", 1, 2, {1, 1, 1});
  EXPECT_EQ(model.output("out").read().network.nodes.size(), 2U);
}

// Beside another output, whose channels follow it.
TEST(OnnxArgMax, IsOneOfSeveralOutputs) {
  OnnxModel model(3);
  model.node("Sigmoid", {"in"}, {"probability"});
  add_arg_max(model, 1, 0, "in", "class");
  const Network network = model.output("class").output("probability").read().network;
  EXPECT_EQ(network.outputs, (std::vector<NamedTensor>{{"class", 1}, {"probability", 3}}));
}

TEST(OnnxArgMax, EndsAPatchClassifier) {
  for (const std::int64_t keepdims : {0, 1}) {
    OnnxModel model(1, 1);
    auto* shape = model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(2)->set_dim_value(4);
    model.node("Flatten", {"in"}, {"row"});
    model.tensor("w", {4, 3});
    model.node("MatMul", {"row", "w"}, {"classes"});
    add_arg_max(model, 1, keepdims, "classes", "class");
    test::set_integer(model.node("Cast", {"class"}, {"out"}), "to", onnx::TensorProto::UINT8);
    const Network network = model.output("out").read().network;
    ASSERT_EQ(network.nodes.size(), 2U) << keepdims;
    EXPECT_EQ(network.nodes[1].operation, Operation(AcrossChannels{AcrossKind::arg_max}));
  }
}

TEST(OnnxArgMax, OfNumbersBehindARefusedNodeIsNoBlocker) {
  OnnxModel model(3);
  model.node("Einsum", {"in"}, {"a"});
  add_arg_max(model, 1, 0, "a", "class");
  test::set_integer(model.node("Cast", {"class"}, {"out"}), "to", onnx::TensorProto::UINT8);
  EXPECT_EQ(model.output("out").blockers().count, 1);
}

}  // namespace
}  // namespace znni
