#include "proto/convert/onnx/operators/onnx_norm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

// Returns a normalisation of "in" whose scale and shift have the elements 1, 2, ... and -1, -2, ...
onnx::NodeProto& add_norm(OnnxModel& model, std::string_view operation, std::int64_t elements) {
  std::vector<float> scale;
  std::vector<float> shift;
  for (std::int64_t i = 1; i <= elements; ++i) {
    scale.push_back(static_cast<float>(i));
    shift.push_back(static_cast<float>(-i));
  }
  model.tensor("scale", {elements}, scale);
  model.tensor("shift", {elements}, shift);
  model.output("out");
  return model.node(operation, {"in", "scale", "shift"}, {"out"});
}

onnx::NodeProto& add_groups(OnnxModel& model, std::int64_t groups, std::int64_t elements) {
  onnx::NodeProto& node = add_norm(model, "GroupNormalization", elements);
  test::set_integer(node, "num_groups", groups);
  return node;
}

TEST(OnnxNorm, InstanceNormalizationIsOneGroupPerChannel) {
  for (const int axes : {1, 2, 3}) {
    OnnxModel model(3, axes, 7);
    add_norm(model, "InstanceNormalization", 3);
    const LoadedNetwork loaded = model.read();
    EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/out", Norm{3, 1e-5F, {}}, {0}}}));
    ASSERT_EQ(loaded.weights.size(), 1U);
    EXPECT_THAT(loaded.weights[0].scale, ElementsAre(1, 2, 3));
    EXPECT_THAT(loaded.weights[0].shift, ElementsAre(-1, -2, -3));
  }
}

onnx::NodeProto& add_training(OnnxModel& model) {
  add_norm(model, "BatchNormalization", 2);
  for (const char* name : {"mean", "variance"}) model.tensor(name, {2}, {9, 9});
  onnx::NodeProto& node = *model.proto.mutable_graph()->mutable_node()->rbegin();
  node.add_input("mean");
  node.add_input("variance");
  return node;
}

// Of a batch of one the statistics of the batch are those of the voxels.
TEST(OnnxNorm, BatchNormalizationInTrainingMode) {
  OnnxModel model(2, 3, 14);
  onnx::NodeProto& node = add_training(model);
  test::set_integer(node, "training_mode", 1);
  test::set_real(node, "epsilon", 0.25F);
  for (const char* name : {"new mean", "new variance"}) node.add_output(name);
  const LoadedNetwork loaded = model.read();
  EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/out", Norm{2, 0.25F, {}}, {0}}}));
  EXPECT_THAT(loaded.weights[0].scale, ElementsAre(1, 2));
  EXPECT_THAT(loaded.weights[0].shift, ElementsAre(-1, -2));
  OnnxModel old(2, 3, 9);
  add_training(old).add_output("new mean");
  EXPECT_EQ(old.read().network.nodes[0].operation, Operation(Norm{2, 1e-5F, {}}));
}

TEST(OnnxNorm, BatchesInTrainingModeAreRefused) {
  OnnxModel model(2, 3, 14);
  test::set_integer(add_training(model), "training_mode", 1);
  onnx::TensorShapeProto& shape =
      *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(0)->set_dim_value(4);
  EXPECT_THAT(model.refusal(),
              HasSubstr("normalises by the statistics of a batch (training mode), which is supported"));
  OnnxModel pooled(2, 3, 14);
  pooled.node("GlobalAveragePool", {"in"}, {"pooled"});
  onnx::NodeProto& node = add_training(pooled);
  node.set_input(0, "pooled");
  test::set_integer(node, "training_mode", 1);
  EXPECT_THAT(pooled.refusal(), HasSubstr("of a batch of 1 and of voxels alone"));
}

TEST(OnnxNorm, EpsilonIsTheNodes) {
  OnnxModel instance(2, 3, 22);
  test::set_real(add_norm(instance, "InstanceNormalization", 2), "epsilon", 0.25F);
  EXPECT_EQ(instance.read().network.nodes[0].operation, Operation(Norm{2, 0.25F, {}}));
  OnnxModel groups(2, 3, 21);
  test::set_real(add_groups(groups, 1, 2), "epsilon", 0.5F);
  EXPECT_EQ(groups.read().network.nodes[0].operation, Operation(Norm{1, 0.5F, {}}));
}

TEST(OnnxNorm, GroupNormalizationHasOneScalePerChannel) {
  for (const std::int64_t opset : {21, 22}) {
    OnnxModel model(4, 3, opset);
    test::set_integer(add_groups(model, 2, 4), "stash_type", 1);
    const LoadedNetwork loaded = model.read();
    EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/out", Norm{2, 1e-5F, {}}, {0}}}));
    EXPECT_THAT(loaded.weights[0].scale, ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(loaded.weights[0].shift, ElementsAre(-1, -2, -3, -4));
  }
}

TEST(OnnxNorm, GroupNormalizationHadOneScalePerGroup) {
  OnnxModel model(6, 3, 18);
  add_groups(model, 2, 2);
  const LoadedNetwork loaded = model.read();
  EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/out", Norm{2, 1e-5F, {}}, {0}}}));
  EXPECT_THAT(loaded.weights[0].scale, ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(loaded.weights[0].shift, ElementsAre(-1, -1, -1, -2, -2, -2));
}

TEST(OnnxNorm, WrongNumbersOfElementsAreErrors) {
  OnnxModel instance(3);
  add_norm(instance, "InstanceNormalization", 2);
  EXPECT_EQ(instance.refusal(),
            "corrupt_file: node '/out' (InstanceNormalization): input 'scale' has 2 elements; one per channel, 3, is "
            "right");
  OnnxModel early(4, 3, 20);
  add_groups(early, 2, 4);
  EXPECT_THAT(early.refusal(), HasSubstr("input 'scale' has 4 elements; one per group, 2, is right"));
  OnnxModel late(4, 3, 21);
  add_groups(late, 2, 2);
  EXPECT_THAT(late.refusal(), HasSubstr("input 'scale' has 2 elements; one per channel, 4, is right"));
  OnnxModel none(4, 3, 21);
  add_groups(none, 2, 0);
  EXPECT_THAT(none.refusal(), HasSubstr("input 'scale' has 0 elements; one per channel, 4, is right"));
  OnnxModel shift(3);
  add_norm(shift, "InstanceNormalization", 3);
  shift.tensor("short", {1}, {1});
  shift.proto.mutable_graph()->mutable_node(0)->set_input(2, "short");
  EXPECT_THAT(shift.refusal(), HasSubstr("input 'short' has 1 elements; one per channel, 3, is right"));
}

TEST(OnnxNorm, ComputedScalesAreRefused) {
  for (const char* operation : {"InstanceNormalization", "GroupNormalization"}) {
    OnnxModel model(2);
    onnx::NodeProto& node = add_norm(model, operation, 2);
    node.set_input(1, "in");
    if (operation == std::string("GroupNormalization")) test::set_integer(node, "num_groups", 1);
    EXPECT_THAT(model.refusal(), HasSubstr("input 'in' is computed; only constants are supported")) << operation;
  }
}

TEST(OnnxNorm, ScalesComputedFromConstantsAreConstants) {
  OnnxModel model(2);
  add_norm(model, "InstanceNormalization", 2);
  model.integers("twice", {2});
  model.tensor("one", {1}, {1});
  model.node("Expand", {"one", "twice"}, {"ones"});
  model.proto.mutable_graph()->mutable_node(0)->set_input(1, "ones");
  EXPECT_THAT(model.read().weights[0].scale, ElementsAre(1, 1));
}

TEST(OnnxNorm, GroupsThatAreNone) {
  const std::pair<std::int64_t, const char*> wrong[] = {
      {3, "num_groups = 3 does not divide the 4 channels; a divisor is right"},
      {8, "num_groups = 8 does not divide the 4 channels"},
      {0, "num_groups = 0; 1 or more is right"},
      {-2, "num_groups = -2; 1 or more is right"},
      {std::numeric_limits<std::int64_t>::min(), "1 or more is right"}};
  for (const auto& [groups, says] : wrong) {
    OnnxModel model(4, 3, 21);
    add_groups(model, groups, 4);
    EXPECT_THAT(model.refusal(), HasSubstr(says));
  }
  OnnxModel missing(4, 3, 21);
  add_norm(missing, "GroupNormalization", 4);
  EXPECT_EQ(missing.refusal(), "corrupt_file: node '/out' (GroupNormalization): attribute 'num_groups' is missing");
}

TEST(OnnxNorm, AnEpsilonThatCouldDivideByZeroIsRefused) {
  for (const float epsilon : {0.0F, -1.0F, std::numeric_limits<float>::infinity()}) {
    OnnxModel model(2);
    test::set_real(add_norm(model, "InstanceNormalization", 2), "epsilon", epsilon);
    EXPECT_THAT(model.refusal(), HasSubstr("is not supported; a finite number above 0 is"));
  }
}

// Nothing is asked of a tensor whose channels are not known.
TEST(OnnxNorm, BehindARefusedNode) {
  for (const char* operation : {"InstanceNormalization", "GroupNormalization"}) {
    OnnxModel model(4, 3, 21);
    onnx::NodeProto& node = add_norm(model, operation, 7);
    if (operation == std::string("GroupNormalization")) test::set_integer(node, "num_groups", 3);
    node.set_input(0, "other");
    model.node("Einsum", {"in"}, {"other"});
    const Blockers blockers = model.blockers();
    ASSERT_EQ(blockers.kinds.size(), 1U) << operation;
    EXPECT_EQ(blockers.kinds[0].what, "Einsum");
  }
}

}  // namespace
}  // namespace znni
