#include "proto/convert/onnx/reader/onnx_operators.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;
using testing::StartsWith;

TEST(OnnxOperators, TheTableIsSortedAndWhole) {
  const std::span<const OnnxOperator> rows = onnx_operators();
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
  std::set<std::string_view> names;
  for (const OnnxOperator& row : rows) {
    names.insert(row.name);
    EXPECT_NE(row.convert, nullptr);
    EXPECT_LE(row.min_inputs, row.max_inputs);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"Add",
                                               "ArgMax",
                                               "AveragePool",
                                               "BatchNormalization",
                                               "Cast",
                                               "Clip",
                                               "Concat",
                                               "Constant",
                                               "Conv",
                                               "ConvTranspose",
                                               "DepthToSpace",
                                               "Div",
                                               "Dropout",
                                               "Elu",
                                               "Expand",
                                               "Flatten",
                                               "Gelu",
                                               "GlobalAveragePool",
                                               "GlobalMaxPool",
                                               "GroupNormalization",
                                               "HardSigmoid",
                                               "HardSwish",
                                               "Identity",
                                               "If",
                                               "InstanceNormalization",
                                               "LayerNormalization",
                                               "LeakyRelu",
                                               "Log",
                                               "LogSoftmax",
                                               "Loop",
                                               "LpNormalization",
                                               "Max",
                                               "MaxPool",
                                               "Min",
                                               "Mish",
                                               "Mul",
                                               "PRelu",
                                               "Pad",
                                               "Reciprocal",
                                               "ReduceMax",
                                               "ReduceMean",
                                               "Relu",
                                               "Reshape",
                                               "Resize",
                                               "Selu",
                                               "Sigmoid",
                                               "Slice",
                                               "Softmax",
                                               "Softplus",
                                               "Split",
                                               "Squeeze",
                                               "Sub",
                                               "Swish",
                                               "Tanh",
                                               "Tile",
                                               "Transpose",
                                               "Unsqueeze",
                                               "Upsample"}));
}

TEST(OnnxOperators, AnythingElseIsOneLineWithNames) {
  OnnxModel model;
  model.node("Einsum", {"in"}, {"up"}).set_name("sum_3");
  EXPECT_EQ(model.output("up").refusal(),
            "unsupported: node 'sum_3' (Einsum): operator is not supported; supported are: Add, ArgMax, AveragePool, "
            "BatchNormalization, Cast, Clip, Concat, Constant, Conv, ConvTranspose, DepthToSpace, Div, Dropout, "
            "Elu, Expand, Flatten, Gelu, GlobalAveragePool, GlobalMaxPool, GroupNormalization, HardSigmoid, HardSwish, "
            "Identity, If, InstanceNormalization, LayerNormalization, LeakyRelu, Log, LogSoftmax, Loop, "
            "LpNormalization, Max, MaxPool, "
            "Min, Mish, Mul, "
            "PRelu, Pad, Reciprocal, ReduceMax, "
            "ReduceMean, Relu, Reshape, Resize, Selu, Sigmoid, Slice, Softmax, Softplus, Split, Squeeze, Sub, "
            "Swish, Tanh, Tile, Transpose, Unsqueeze, Upsample");
}

// PyTorch fills the pads of F.pad up with zeros, and the importer reads what comes out: here none at all.
TEST(OnnxOperators, ParametersMayBeComputedFromConstants) {
  OnnxModel model(1);
  model.integers("given", {0, 0});
  model.integers("others", {8});
  test::set_integer(model.node("Concat", {"given", "zeros"}, {"pads"}), "axis", 0);
  onnx::NodeProto& zeros = model.node("ConstantOfShape", {"others"}, {"zeros"});
  onnx::AttributeProto& zero = *zeros.add_attribute();
  zero.set_name("value");
  zero.set_type(onnx::AttributeProto::TENSOR);
  zero.mutable_t()->set_data_type(onnx::TensorProto::INT64);
  zero.mutable_t()->add_int64_data(0);
  test::set_text(model.node("Pad", {"in", "pads"}, {"padded"}), "mode", "edge");
  model.node("Relu", {"padded"}, {"out"});
  EXPECT_EQ(model.output("out").read().network.nodes.size(), 1U);
  zero.mutable_t()->set_int64_data(0, 1);
  EXPECT_THAT(model.refusal(), HasSubstr("node '/padded' (Pad): pads of 1 along axis 0 are not supported; only 0"));
  zeros.mutable_input()->Clear();
  EXPECT_THAT(model.refusal(), HasSubstr("node '/zeros' (ConstantOfShape): operator is not supported"));
  OnnxModel failing(1);
  failing.integers("a", {1});
  failing.integers("b", {0});
  failing.node("Div", {"a", "b"}, {"pads"});
  failing.node("Pad", {"in", "pads"}, {"out"});
  EXPECT_THAT(failing.output("out").refusal(), HasSubstr("node '/pads' (Div): makes of 1 and 0 nothing"));
}

TEST(OnnxOperators, OperatorsOfOtherDomainsAreNotOurs) {
  OnnxModel foreign;
  foreign.node("Relu", {"in"}, {"a"}).set_domain("com.microsoft");
  EXPECT_THAT(foreign.output("a").refusal(), HasSubstr("node '/a' (Relu): operator is not supported"));
  OnnxModel own;
  own.node("Relu", {"in"}, {"a"}).set_domain("ai.onnx");
  EXPECT_EQ(own.output("a").refusal(), "");
}

TEST(OnnxOperators, NumbersOfInputs) {
  for (const OnnxOperator& row : onnx_operators()) {
    if (row.name == "Concat" || row.name == "Constant" || row.name == "Loop" || row.name == "Max" || row.name == "Min")
      continue;
    OnnxModel model;
    model.node(row.name, test::Names(static_cast<std::size_t>(row.max_inputs) + 1, "in"), {"a"});
    EXPECT_THAT(model.output("a").refusal(), HasSubstr("inputs; " + std::to_string(row.min_inputs))) << row.name;
  }
}

TEST(OnnxOperators, HostileNamesStayOnOneLine) {
  OnnxModel model;
  onnx::NodeProto& node = model.node("Bad\nOperator\x1b[31m", {"in"}, {"a"});
  node.set_name("evil\r\nname" + std::string(1000, 'x'));
  const std::string refusal = model.output("a").refusal();
  EXPECT_EQ(std::count_if(refusal.begin(), refusal.end(), [](unsigned char c) { return c < 0x20; }), 0);
  EXPECT_LT(refusal.size(), 720U);
  EXPECT_THAT(refusal, StartsWith("unsupported: node 'evil??namexxx"));
}

}  // namespace
}  // namespace znni
