#include "proto/convert/onnx/operators/onnx_planes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::Names;
using test::OnnxModel;
using testing::HasSubstr;

// Pools [1][2][4][2][2] by 2 along z, and repeats each of the two planes, as Keras does: channels last.
struct Planes {
  std::int64_t axis = 1;
  Names joined = {"a", "a", "b", "b"};
  test::Integers sizes = {1, 1};

  OnnxModel model() const {
    OnnxModel model(2);
    onnx::TensorShapeProto& shape =
        *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    const test::Integers extents = {4, 2, 2};
    for (int i = 0; i < 3; ++i) shape.mutable_dim(2 + i)->set_dim_value(extents[static_cast<std::size_t>(i)]);
    onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"low"});
    test::set_integers(pool, "kernel_shape", {2, 1, 1});
    test::set_integers(pool, "strides", {2, 1, 1});
    test::set_integers(model.node("Transpose", {"low"}, {"last"}), "perm", {0, 2, 3, 4, 1});
    model.integers("sizes", sizes);
    test::set_integer(model.node("Split", {"last", "sizes"}, {"a", "b"}), "axis", 1);
    test::set_integer(model.node("Concat", joined, {"high"}), "axis", axis);
    test::set_integers(model.node("Transpose", {"high"}, {"out"}), "perm", {0, 4, 1, 2, 3});
    return std::move(model.output("out"));
  }
};

TEST(OnnxPlanes, RepeatedOnesAreAnUpsampling) {
  for (const std::int64_t axis : {1, -4}) {
    Planes planes;
    planes.axis = axis;
    const LoadedNetwork loaded = planes.model().read();
    ASSERT_EQ(loaded.network.nodes.size(), 2U);
    EXPECT_EQ(loaded.network.nodes[1].operation, Operation(Upsample{{2, 1, 1}}));
  }
}

TEST(OnnxPlanes, InTheOldOrderTheyAreTheTensor) {
  Planes planes;
  planes.joined = {"a", "b"};
  EXPECT_EQ(planes.model().read().network.nodes.size(), 1U);
}

TEST(OnnxPlanes, OthersAreRefused) {
  for (const Names& joined : {Names{"a", "b", "a", "b"}, Names{"a", "a", "b"}, Names{"b", "b", "a", "a"},
                              Names{"a", "a", "b", "last"}, Names{"a"}}) {
    Planes planes;
    planes.joined = joined;
    EXPECT_THAT(planes.model().refusal(), HasSubstr("only of all of them in order")) << joined.size();
  }
  Planes across;
  across.axis = 2;
  EXPECT_THAT(across.model().refusal(), HasSubstr("only of all of them in order"));
  Planes thick;
  thick.sizes = {2};
  EXPECT_THAT(thick.model().refusal(), HasSubstr("has 1 sizes for 2 outputs"));
  OnnxModel read = Planes{}.model();
  read.node("Relu", {"a"}, {"alone"});
  EXPECT_THAT(read.output("alone").refusal(), HasSubstr("is one voxel along an axis of another tensor"));
}

TEST(OnnxPlanes, AnOpenAxisIsRefused) {
  OnnxModel model(1);
  test::set_integer(model.node("Split", {"in"}, {"a", "b"}), "axis", 2);
  test::set_integer(model.node("Concat", {"a", "b"}, {"out"}), "axis", 2);
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("splits an axis whose extent the file leaves open"));
}

}  // namespace
}  // namespace znni
