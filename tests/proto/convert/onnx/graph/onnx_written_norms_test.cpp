#include "proto/convert/onnx/graph/onnx_written_norms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

// Writes the normalisation of "x" over `axis` as nodes, "n".
void add_written(OnnxModel& model, std::int64_t axis, bool by_reciprocal, bool twice, float power = 2) {
  model.tensor("power", {}, {power});
  model.tensor("epsilon", {}, {0.125F});
  test::set_integers(model.node("ReduceMean", {"x"}, {"mean"}), "axes", {axis});
  model.node("Sub", {"x", "mean"}, {"off"});
  if (twice) model.node("Sub", {"x", "mean"}, {"again"});
  if (by_reciprocal) {
    model.node("Mul", {"off", "off"}, {"square"});
  } else {
    model.node("Pow", {"off", "power"}, {"square"});
  }
  test::set_integers(model.node("ReduceMean", {"square"}, {"variance"}), "axes", {axis});
  model.node("Add", {"variance", "epsilon"}, {"sum"});
  model.node("Sqrt", {"sum"}, {"root"});
  if (by_reciprocal) model.node("Reciprocal", {"root"}, {"inverse"});
  model.node(by_reciprocal ? "Mul" : "Div", {twice ? "again" : "off", by_reciprocal ? "inverse" : "root"}, {"n"});
}

TEST(OnnxWrittenNorms, AreOneLayer) {
  for (const bool by_reciprocal : {false, true}) {
    for (const bool twice : {false, true}) {
      for (const std::int64_t axis : {1, -4}) {
        OnnxModel model(2);
        model.node("Relu", {"in"}, {"x"});
        add_written(model, axis, by_reciprocal, twice);
        model.tensor("scale", {2, 1, 1, 1}, {3.0F, 4.0F});
        model.node("Mul", {"scale", "n"}, {"out"});
        const LoadedNetwork loaded = model.output("out").read();
        EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/x", Activate{{ActivationKind::relu}}, {0}},
                                                           {"/n", AcrossChannels{AcrossKind::norm, 0.125F}, {1}},
                                                           {"/out", ScaleShift{}, {2}}}));
      }
    }
  }
}

TEST(OnnxWrittenNorms, OfChannelsThatAreLast) {
  OnnxModel model(2);
  test::set_integers(model.node("Transpose", {"in"}, {"x"}), "perm", {0, 2, 3, 4, 1});
  add_written(model, -1, false, false);
  model.tensor("scale", {2}, {3.0F, 4.0F});
  model.tensor("shift", {1, 2}, {0.5F, 0.25F});
  model.node("Mul", {"n", "scale"}, {"scaled"});
  model.node("Add", {"shift", "scaled"}, {"s"});
  test::set_integers(model.node("Transpose", {"s"}, {"out"}), "perm", {0, 4, 1, 2, 3});
  const LoadedNetwork loaded = model.output("out").read();
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  EXPECT_EQ(loaded.network.nodes[0].operation, Operation(AcrossChannels{AcrossKind::norm, 0.125F}));
  EXPECT_EQ(loaded.weights[1].scale, (std::vector<float>{3, 4}));
  EXPECT_EQ(loaded.weights[2].shift, (std::vector<float>{0.5F, 0.25F}));
}

TEST(OnnxWrittenNorms, OverSpaceAreRefused) {
  OnnxModel model(2);
  model.node("Relu", {"in"}, {"x"});
  add_written(model, 2, false, false);
  EXPECT_THAT(model.output("n").refusal(), HasSubstr("node '/mean' (ReduceMean): over axes [2] is not supported"));
}

TEST(OnnxWrittenNorms, AreNoneIfAnotherReadsWhatIsBetween) {
  for (const bool is_output : {false, true}) {
    OnnxModel model(2);
    model.node("Relu", {"in"}, {"x"});
    add_written(model, 1, false, false);
    model.node("Add", {"n", is_output ? "x" : "off"}, {"out"});
    if (is_output) model.output("off");
    EXPECT_THAT(model.output("out").refusal(), HasSubstr("(ReduceMean): over axes [1] is not supported"));
  }
}

// A constant of one number and several axes adds these to what it is computed with.
TEST(OnnxWrittenNorms, OfConstantsWithAxesAreNone) {
  for (const char* name : {"power", "epsilon"}) {
    OnnxModel model(2);
    model.node("Relu", {"in"}, {"x"});
    add_written(model, 1, false, false);
    for (onnx::TensorProto& constant : *model.proto.mutable_graph()->mutable_initializer()) {
      if (constant.name() != name) continue;
      for (int axis = 0; axis < 6; ++axis) constant.add_dims(1);
    }
    EXPECT_THAT(model.output("n").refusal(), HasSubstr("(ReduceMean): over axes [1] is not supported"));
  }
}

TEST(OnnxWrittenNorms, OfOtherPowersAreNone) {
  OnnxModel model(2);
  model.node("Relu", {"in"}, {"x"});
  add_written(model, 1, false, false, 3);
  EXPECT_THAT(model.output("n").refusal(), HasSubstr("(ReduceMean): over axes [1] is not supported"));
}

}  // namespace
}  // namespace znni
