#include "proto/convert/onnx/operators/onnx_global_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::Integers;
using test::OnnxModel;
using testing::HasSubstr;

// Multiplies "in" by the pooled tensor "p".
std::vector<Node> gated(OnnxModel& model) {
  model.node("Mul", {"in", "p"}, {"out"});
  return model.output("out").read().network.nodes;
}

std::vector<Node> expected(PoolKind kind) { return {{"/p", GlobalPool{kind}, {0}}, {"/out", Multiply{}, {0, 1}}}; }

TEST(OnnxGlobalPool, AverageAndMaximum) {
  for (const int axes : {1, 2, 3}) {
    OnnxModel average(3, axes);
    average.node("GlobalAveragePool", {"in"}, {"p"});
    EXPECT_EQ(gated(average), expected(PoolKind::average));
    OnnxModel maximum(3, axes);
    maximum.node("GlobalMaxPool", {"in"}, {"p"});
    EXPECT_EQ(gated(maximum), expected(PoolKind::max));
  }
}

TEST(OnnxGlobalPool, ReductionsOverSpace) {
  for (const Integers& axes : {Integers{2, 3, 4}, {-1, -2, -3}, {4, 2, -2}}) {
    OnnxModel attribute(3, 3, 13);
    test::set_integers(attribute.node("ReduceMean", {"in"}, {"p"}), "axes", axes);
    EXPECT_EQ(gated(attribute), expected(PoolKind::average));
    OnnxModel input(3, 3, 18);
    input.integers("axes", axes);
    test::set_integer(input.node("ReduceMax", {"in", "axes"}, {"p"}), "keepdims", 1);
    EXPECT_EQ(gated(input), expected(PoolKind::max));
  }
}

TEST(OnnxGlobalPool, AxesThatAreNotKeptMayBePutBack) {
  OnnxModel model(3, 2, 13);
  onnx::NodeProto& mean = model.node("ReduceMean", {"in"}, {"m"});
  test::set_integers(mean, "axes", {2, 3});
  test::set_integer(mean, "keepdims", 0);
  model.integers("axes", {2, 3});
  model.node("Unsqueeze", {"m", "axes"}, {"p"});
  model.node("Mul", {"in", "p"}, {"out"});
  EXPECT_EQ(model.output("out").read().network.nodes,
            (std::vector<Node>{{"/m", GlobalPool{}, {0}}, {"/out", Multiply{}, {0, 1}}}));
  model.proto.mutable_graph()->mutable_node(2)->set_input(1, "m");
  EXPECT_THAT(model.refusal(),
              HasSubstr("node '/out' (Mul): its input is pooled of all voxels, which is not supported"));
}

TEST(OnnxGlobalPool, OtherReductionsAreRefused) {
  for (const Integers& axes : {Integers{1}, {1, 2, 3, 4}, {2, 3}, {-1, -2}, {2, 3, 5}, {}}) {
    OnnxModel model(3);
    test::set_integers(model.node("ReduceMean", {"in"}, {"p"}), "axes", axes);
    model.node("Mul", {"in", "p"}, {"out"});
    EXPECT_THAT(model.output("out").refusal(), HasSubstr("is not supported; only over all spatial axes"));
  }
  OnnxModel none(3);
  none.node("ReduceMax", {"in"}, {"out"});
  EXPECT_THAT(none.output("out").refusal(), HasSubstr("over axes [] is not supported"));
  OnnxModel computed(3);
  computed.node("Relu", {"in"}, {"r"});
  computed.node("ReduceMax", {"in", "r"}, {"out"});
  EXPECT_THAT(computed.output("out").refusal(), HasSubstr("its axes 'r' are computed"));
}

TEST(OnnxGlobalPool, AFileThatDeclaresItsExtentsDeclaresAWindow) {
  OnnxModel model(3);
  onnx::TypeProto::Tensor* type = model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  for (int axis = 2; axis < 5; ++axis) type->mutable_shape()->mutable_dim(axis)->set_dim_value(10 + axis);
  model.node("GlobalAveragePool", {"in"}, {"p"});
  model.node("Mul", {"in", "p"}, {"out"});
  EXPECT_EQ(model.output("out").read().network.window, (Vec3{12, 13, 14}));
}

TEST(OnnxGlobalPool, BehindARefusedNode) {
  OnnxModel model(4);
  model.node("Einsum", {"in"}, {"x"});
  model.node("GlobalAveragePool", {"x"}, {"p"});
  model.node("Sigmoid", {"p"}, {"s"});
  model.node("Mul", {"x", "s"}, {"out"});
  const Blockers blockers = model.output("out").blockers();
  ASSERT_EQ(blockers.kinds.size(), 1U);
  EXPECT_EQ(blockers.kinds[0].what, "Einsum");
}

}  // namespace
}  // namespace znni
