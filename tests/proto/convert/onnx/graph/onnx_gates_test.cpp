#include "proto/convert/onnx/graph/onnx_gates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

constexpr float root = 1.41421354F;

// A module that exporters write of "x", and writes "out".
struct Module {
  std::string name;
  ActivationKind kind;
  std::function<void(OnnxModel&)> add;
};

void add_erf(OnnxModel& model, float one = 1) {
  model.tensor("root", {}, {root});
  model.tensor("one", {}, {one});
  model.tensor("half", {1}, {0.5F});
  model.node("Div", {"x", "root"}, {"a"});
  model.node("Erf", {"a"}, {"b"});
  model.node("Add", {"b", "one"}, {"c"});
}

void add_hard_swish(OnnxModel& model, float alpha) {
  test::set_real(model.node("HardSigmoid", {"x"}, {"g"}), "alpha", alpha);
  model.node("Mul", {"x", "g"}, {"out"});
}

std::vector<Module> modules() {
  return {
      {"GELU with the half behind it", ActivationKind::gelu,
       [](OnnxModel& model) {
         add_erf(model);
         model.node("Mul", {"x", "c"}, {"d"});
         model.node("Mul", {"d", "half"}, {"out"});
       }},
      {"GELU with half a sum", ActivationKind::gelu,
       [](OnnxModel& model) {
         add_erf(model);
         model.node("Mul", {"half", "c"}, {"d"});
         model.node("Mul", {"x", "d"}, {"out"});
       }},
      {"GELU with half an x", ActivationKind::gelu,
       [](OnnxModel& model) {
         model.node("Mul", {"x", "half"}, {"h"});
         add_erf(model);
         model.node("Mul", {"h", "c"}, {"out"});
       }},
      {"GELU by products and a quotient", ActivationKind::gelu,
       [](OnnxModel& model) {
         model.tensor("less", {}, {1 / root});
         model.tensor("one", {}, {1});
         model.tensor("two", {}, {2});
         model.node("Mul", {"less", "x"}, {"a"});
         model.node("Erf", {"a"}, {"b"});
         model.node("Add", {"one", "b"}, {"c"});
         model.node("Mul", {"c", "x"}, {"d"});
         model.node("Div", {"d", "two"}, {"out"});
       }},
      {"SiLU", ActivationKind::silu,
       [](OnnxModel& model) {
         model.node("Sigmoid", {"x"}, {"g"});
         model.node("Mul", {"x", "g"}, {"out"});
       }},
      {"SiLU, the other way round", ActivationKind::silu,
       [](OnnxModel& model) {
         model.node("Sigmoid", {"x"}, {"g"});
         model.node("Mul", {"g", "x"}, {"out"});
       }},
      {"Mish", ActivationKind::mish,
       [](OnnxModel& model) {
         model.node("Softplus", {"x"}, {"s"});
         model.node("Tanh", {"s"}, {"g"});
         model.node("Mul", {"x", "g"}, {"out"});
       }},
      {"Hardswish", ActivationKind::hard_swish, [](OnnxModel& model) { add_hard_swish(model, 1.0F / 6.0F); }},
  };
}

TEST(OnnxGates, ModulesBecomeOneActivation) {
  for (const Module& module : modules()) {
    OnnxModel model(2);
    model.node("Relu", {"in"}, {"x"});
    module.add(model);
    const LoadedNetwork loaded = model.output("out").read();
    ASSERT_EQ(loaded.network.nodes.size(), 2U) << module.name;
    EXPECT_EQ(loaded.network.nodes[1], (Node{"/out", Activate{{module.kind}}, {1}})) << module.name;
  }
}

// A file's nodes, each by its own definition, in double precision.
TEST(OnnxGates, ComputeWhatTheirNodesDo) {
  const auto value = [](ActivationKind kind, double x) {
    switch (kind) {
      case ActivationKind::gelu: return x * (std::erf(x / static_cast<double>(root)) + 1) * 0.5;
      case ActivationKind::silu: return x * (1 / (1 + std::exp(-x)));
      case ActivationKind::mish: return x * std::tanh(std::log(1 + std::exp(x)));
      default: return x * std::min(std::max(x * static_cast<double>(1.0F / 6.0F) + 0.5, 0.0), 1.0);
    }
  };
  for (const Module& module : modules()) {
    OnnxModel model(1);
    model.node("Identity", {"in"}, {"x"});
    module.add(model);
    model.output("out");
    for (int i = -20; i <= 20; ++i) {
      const double x = i * 0.3;
      EXPECT_NEAR(model.value_of(x), value(module.kind, x), 1e-6) << module.name << " of " << x;
    }
  }
}

// Adds a Sum to a module, which reads one of its inner values, too.
TEST(OnnxGates, InnerValuesThatSomethingElseReadsStay) {
  for (const char* inner : {"a", "b", "c", "d"}) {
    OnnxModel model(1);
    model.node("Relu", {"in"}, {"x"});
    add_erf(model);
    model.node("Mul", {"x", "c"}, {"d"});
    model.node("Mul", {"d", "half"}, {"e"});
    model.node("Add", {"e", inner}, {"out"});
    EXPECT_THAT(model.output("out").refusal(), HasSubstr("(Erf): operator is not supported")) << inner;
  }
}

TEST(OnnxGates, AValueThatIsReadBesidesIsNoInnerOne) {
  OnnxModel model(1);
  model.node("Relu", {"in"}, {"x"});
  model.node("Sigmoid", {"x"}, {"g"});
  model.node("Mul", {"x", "g"}, {"m"});
  model.node("Add", {"m", "x"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(Activate{{ActivationKind::silu}}));
}

TEST(OnnxGates, OtherConstantsAreRefused) {
  OnnxModel two;
  two.node("Relu", {"in"}, {"x"});
  add_erf(two, 2);
  two.node("Mul", {"x", "c"}, {"d"});
  two.node("Mul", {"d", "half"}, {"out"});
  EXPECT_THAT(two.output("out").refusal(), HasSubstr("node '/b' (Erf): operator is not supported"));
  OnnxModel whole;
  whole.node("Relu", {"in"}, {"x"});
  add_erf(whole);
  whole.node("Mul", {"x", "c"}, {"out"});
  EXPECT_THAT(whole.output("out").refusal(), HasSubstr("node '/b' (Erf): operator is not supported"));
}

TEST(OnnxGates, AHardswishOfAnotherSlopeIsAProduct) {
  OnnxModel keras;
  keras.node("Relu", {"in"}, {"x"});
  add_hard_swish(keras, 0.2F);
  const LoadedNetwork loaded = keras.output("out").read();
  EXPECT_EQ(loaded.network.nodes.back().operation, Operation(Multiply{}));
}

TEST(OnnxGates, ProductsOfOtherTensorsStayProducts) {
  OnnxModel model;
  model.node("Relu", {"in"}, {"x"});
  model.node("Sigmoid", {"in"}, {"g"});
  model.node("Mul", {"x", "g"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  EXPECT_EQ(loaded.network.nodes[2].operation, Operation(Multiply{}));
}

// Nodes that lack the inputs of their operators.
TEST(OnnxGates, NodesWithoutInputs) {
  OnnxModel model;
  model.node("Erf", {}, {"a"});
  model.node("Div", {}, {"b"});
  model.node("Erf", {"b"}, {"c"});
  model.node("Sigmoid", {}, {"d"});
  model.node("Mul", {"c", "d"}, {"e"});
  model.node("Sum", {"in", "a", "e"}, {"out"});
  model.output("out");
  const Result<OnnxGraph> graph = make_onnx_graph(model.proto);
  ASSERT_TRUE(graph);
  const OnnxGates gates(*graph);
  for (const onnx::NodeProto* node : graph->nodes) EXPECT_EQ(gates.of(*node), nullptr);
}

}  // namespace
}  // namespace znni
