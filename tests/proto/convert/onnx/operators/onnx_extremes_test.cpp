#include "proto/convert/onnx/operators/onnx_extremes.hpp"

#include <gmock/gmock.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

// Computes the net for one voxel of two channels.
std::vector<float> computed(const LoadedNetwork& loaded, const std::vector<float>& input) {
  std::vector<std::vector<float>> values = {input};
  for (std::size_t i = 0; i < loaded.network.nodes.size(); ++i) {
    const Node& node = loaded.network.nodes[i];
    std::vector<float> found = values[static_cast<std::size_t>(node.inputs[0])];
    for (std::size_t j = 0; j < found.size(); ++j) {
      if (node.operation == Operation(ScaleShift{})) {
        found[j] = found[j] * loaded.weights[i].scale[j] + loaded.weights[i].shift[j];
      } else if (node.operation == Operation(Add{})) {
        found[j] += values[static_cast<std::size_t>(node.inputs[1])][j];
      } else {
        EXPECT_EQ(node.operation, Operation(Activate{{ActivationKind::relu}}));
        found[j] = std::max(found[j], 0.0F);
      }
    }
    values.push_back(found);
  }
  return values.back();
}

// Returns the net of the extreme of x, -x and x + 3.
LoadedNetwork of_three(const std::string& name) {
  OnnxModel model(2);
  model.tensor("minus", {1}, {-1});
  model.tensor("three", {1}, {3});
  model.node("Mul", {"in", "minus"}, {"b"});
  model.node("Add", {"in", "three"}, {"c"});
  model.node(name, {"in", "b", "c"}, {"out"});
  return model.output("out").read();
}

TEST(OnnxExtremes, OfSeveralTensors) {
  EXPECT_EQ(computed(of_three("Max"), {5, -9}), (std::vector<float>{8, 9}));
  EXPECT_EQ(computed(of_three("Max"), {-1, 0}), (std::vector<float>{2, 3}));
  EXPECT_EQ(computed(of_three("Min"), {5, -9}), (std::vector<float>{-5, -9}));
  EXPECT_EQ(computed(of_three("Min"), {-2, 0}), (std::vector<float>{-2, 0}));
}

TEST(OnnxExtremes, OfOneTensorIsTheTensor) {
  OnnxModel model(2);
  model.node("Max", {"in"}, {"a"});
  model.node("Relu", {"a"}, {"out"});
  EXPECT_EQ(model.output("out").read().network.nodes.size(), 1U);
}

TEST(OnnxExtremes, WhatDoesNotFitIsRefused) {
  OnnxModel constant(2);
  constant.tensor("zero", {1}, {0});
  constant.node("Max", {"in", "zero"}, {"out"});
  EXPECT_THAT(constant.output("out").refusal(),
              HasSubstr("node '/out' (Max): of a constant is not supported; Clip is"));
  OnnxModel channels(2);
  channels.conv("in", "a", 2, 3, {1, 1, 1});
  channels.node("Min", {"in", "a"}, {"out"});
  EXPECT_THAT(channels.output("out").refusal(), HasSubstr("adds 2 channels of in to 3 of /out"));
}

// A small file must not take much memory.
TEST(OnnxExtremes, VeryManyTensorsAreRefused) {
  OnnxModel model(2);
  onnx::NodeProto& node = model.node("Max", {"in"}, {"out"});
  for (int i = 0; i < 200000; ++i) node.add_input("in");
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("of 200001 tensors is not supported; at most 64 are"));
}

}  // namespace
}  // namespace znni
