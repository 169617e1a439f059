#include "proto/convert/onnx/graph/onnx_modules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::ElementsAre;

// Returns each node's module, "" for nodes of none; the input's name behind it.
std::vector<std::string> modules_of(OnnxModel& model) {
  model.output("out");
  const Result<OnnxGraph> graph = make_onnx_graph(model.proto);
  EXPECT_TRUE(graph);
  if (!graph) return {};
  const OnnxModules modules(*graph);
  std::vector<std::string> found;
  for (const onnx::NodeProto* node : graph->nodes) {
    const OnnxModule* module = modules.of(*node);
    found.push_back(module == nullptr ? "" : module->words.what + " of " + module->input);
  }
  return found;
}

// PyTorch's exporter with dynamo=True.
TEST(OnnxModules, InstanceNormAsABatchNorm) {
  for (const std::int64_t training : {0, 1}) {
    OnnxModel model;
    for (const char* name : {"all", "own", "c"}) model.tensor(name, {1});
    model.node("Relu", {"in"}, {"x"});
    model.node("Reshape", {"x", "all"}, {"a"});
    onnx::NodeProto& norm = model.node("BatchNormalization", {"a", "c", "c", "c", "c"}, {"b", "mean", "variance"});
    test::set_integer(norm, "training_mode", training);
    model.node("Reshape", {"b", "own"}, {"out"});
    const std::string module = training == 1 ? "InstanceNorm as a BatchNorm in training mode of x" : "";
    EXPECT_THAT(modules_of(model), ElementsAre("", module, module, module));
  }
}

TEST(OnnxModules, GeluByErf) {
  OnnxModel model;
  for (const char* name : {"root", "one", "half"}) model.tensor(name, {1});
  model.node("Div", {"in", "root"}, {"a"});
  model.node("Erf", {"a"}, {"b"});
  model.node("Add", {"b", "one"}, {"c"});
  model.node("Mul", {"in", "c"}, {"d"});
  model.node("Mul", {"d", "half"}, {"out"});
  const std::string module = "GELU of in";
  EXPECT_THAT(modules_of(model), ElementsAre(module, module, module, module, ""));
}

TEST(OnnxModules, ActivationsThatMultiplyTheirInput) {
  OnnxModel model;
  model.node("Sigmoid", {"in"}, {"s"});
  model.node("Mul", {"in", "s"}, {"a"});
  model.node("HardSigmoid", {"a"}, {"h"});
  model.node("Mul", {"h", "a"}, {"b"});
  model.node("Softplus", {"b"}, {"p"});
  model.node("Tanh", {"p"}, {"t"});
  model.node("Mul", {"b", "t"}, {"out"});
  EXPECT_THAT(modules_of(model), ElementsAre("SiLU (Swish) of in", "SiLU (Swish) of in", "Hardswish of a",
                                             "Hardswish of a", "Mish of b", "Mish of b", "Mish of b"));
}

TEST(OnnxModules, AGateOfSomethingElseIsNone) {
  OnnxModel model;
  model.node("Relu", {"in"}, {"r"});
  model.node("Sigmoid", {"r"}, {"s"});
  model.node("Mul", {"in", "s"}, {"out"});
  EXPECT_THAT(modules_of(model), ElementsAre("", "", ""));
}

TEST(OnnxModules, SqueezeAndExcitation) {
  OnnxModel model;
  model.tensor("w", {1});
  model.node("Relu", {"in"}, {"x"});
  model.node("GlobalAveragePool", {"x"}, {"m"});
  model.node("Gemm", {"m", "w"}, {"g"});
  model.node("Sigmoid", {"g"}, {"s"});
  model.node("Mul", {"s", "x"}, {"out"});
  const std::string module = "squeeze-and-excitation of x";
  EXPECT_THAT(modules_of(model), ElementsAre("", module, module, module, module));
  OnnxModel of_another;
  of_another.node("Relu", {"in"}, {"x"});
  of_another.node("GlobalAveragePool", {"in"}, {"m"});
  of_another.node("Mul", {"m", "x"}, {"out"});
  EXPECT_THAT(modules_of(of_another), ElementsAre("", "", ""));
}

TEST(OnnxModules, Shuffle) {
  OnnxModel model;
  model.tensor("c", {1});
  model.node("Reshape", {"in", "c"}, {"a"});
  model.node("Transpose", {"a"}, {"b"});
  model.node("Reshape", {"b", "c"}, {"out"});
  const std::string module = "pixel or channel shuffle of ";
  EXPECT_THAT(modules_of(model), ElementsAre(module, module, module));
}

// Nodes that lack the inputs of their operators.
TEST(OnnxModules, NodesWithoutInputs) {
  OnnxModel model;
  model.node("Transpose", {}, {"a"});
  model.node("Reshape", {"a"}, {"b"});
  model.node("Div", {}, {"c"});
  model.node("Erf", {"c"}, {"d"});
  model.node("Sigmoid", {}, {"e"});
  model.node("Mul", {"b", "e"}, {"f"});
  model.node("Sum", {"in", "d", "f"}, {"out"});
  const std::vector<std::string> found = modules_of(model);
  EXPECT_EQ(found, std::vector<std::string>(7));
}

}  // namespace
}  // namespace znni
