#include "proto/convert/onnx/graph/onnx_arithmetic.hpp"

#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

TEST(OnnxArithmetic, OfShapesOfConstantsAndOfVoxels) {
  test::OnnxModel model;
  model.tensor("c", {1});
  model.node("Shape", {"in"}, {"shape"});
  model.node("Gather", {"shape", "c"}, {"size"});
  model.node("ConstantOfShape", {"c"}, {"zeros"});
  model.node("Concat", {"zeros", "size"}, {"both"});
  model.node("Reshape", {"zeros", "c"}, {"flat"});
  model.node("RandomNormal", {}, {"noise"});
  model.node("Resize", {"in", "", "", "both"}, {"up"});
  model.node("Sum", {"up", "flat", "noise"}, {"out"});
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("out").proto);
  ASSERT_TRUE(graph);
  const OnnxArithmetic arithmetic(*graph);
  for (const char* tensor : {"shape", "size", "both"})
    EXPECT_EQ(arithmetic.of(tensor), Arithmetic::of_shapes) << tensor;
  for (const char* tensor : {"zeros", "flat"}) EXPECT_EQ(arithmetic.of(tensor), Arithmetic::of_constants) << tensor;
  for (const char* tensor : {"in", "c", "noise", "up", "out"}) {
    EXPECT_EQ(arithmetic.of(tensor), Arithmetic::none) << tensor;
  }
  EXPECT_EQ(arithmetic.read_by(*graph->nodes.back()), Arithmetic::of_constants);
  EXPECT_EQ(arithmetic.of(*graph->nodes.back()), Arithmetic::none);
}

// The branches of an If may compute from any tensor.
TEST(OnnxArithmetic, ControlFlowIsNone) {
  test::OnnxModel model;
  model.tensor("c", {1});
  onnx::AttributeProto& branch = *model.node("If", {"c"}, {"out"}).add_attribute();
  branch.set_name("then_branch");
  branch.set_type(onnx::AttributeProto::GRAPH);
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("out").proto);
  ASSERT_TRUE(graph);
  EXPECT_EQ(OnnxArithmetic(*graph).of("out"), Arithmetic::none);
}

}  // namespace
}  // namespace znni
