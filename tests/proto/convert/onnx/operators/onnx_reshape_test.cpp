#include "proto/convert/onnx/operators/onnx_reshape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/graph_passes.hpp"
#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::Integers;
using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

const Integers torch_groups = {0, 2, -1};

// Declares the batch and the extents of "in".
void declare(OnnxModel& model, const Integers& extents) {
  onnx::TypeProto::Tensor* type = model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    type->mutable_shape()->mutable_dim(static_cast<int>(axis))->set_dim_value(extents[axis]);
  }
}

// Normalises "from" in two groups, as torch.nn.GroupNorm is exported, up to the Reshape back, which writes "<name>".
// `back` is the tensor with the extents.
void add_groups(OnnxModel& model, const std::string& from, const std::string& name, const std::string& back) {
  model.tensor(name + ".ones", {2}, {1, 1});
  model.tensor(name + ".zeros", {2}, {0, 0});
  model.node("Reshape", {from, "groups"}, {name + ".g"});
  onnx::NodeProto& norm =
      model.node("InstanceNormalization", {name + ".g", name + ".ones", name + ".zeros"}, {name + ".n"});
  test::set_real(norm, "epsilon", 0.5F);
  model.node("Reshape", {name + ".n", back}, {name});
}

// Returns a model of f channels that is such a normalisation alone, to `groups` and back to `back`.
OnnxModel grouped_model(std::int64_t f, const Integers& extents, const Integers& groups, const Integers& back) {
  OnnxModel model(f);
  declare(model, extents);
  model.integers("groups", groups);
  model.integers("back", back);
  add_groups(model, "in", "out", "back");
  return model.output("out");
}

TEST(OnnxReshape, PyTorchsGroupNormIsOneNode) {
  OnnxModel model(4);
  model.integers("groups", torch_groups);
  model.node("Shape", {"in"}, {"shape"});
  add_groups(model, "in", "back", "shape");
  model.integers("axes", {1, 2, 3});
  model.tensor("weight", {4}, {5, 6, 7, 8});
  model.tensor("bias", {4, 1, 1, 1}, {1, 2, 3, 4});
  model.node("Unsqueeze", {"weight", "axes"}, {"factors"});
  model.node("Mul", {"back", "factors"}, {"scaled"});
  model.node("Add", {"scaled", "bias"}, {"shifted"});
  model.node("Relu", {"shifted"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  ASSERT_EQ(loaded.network.nodes.size(), 4U);
  EXPECT_EQ(loaded.network.nodes[0], (Node{"/back.n", Norm{2, 0.5F, {}}, {0}}));
  const LoadedNetwork fused = fold_and_fuse(loaded);
  EXPECT_EQ(fused.network.nodes, (std::vector<Node>{{"/back.n", Norm{2, 0.5F, {ActivationKind::relu}}, {0}}}));
  ASSERT_EQ(fused.weights.size(), 1U);
  EXPECT_THAT(fused.weights[0].scale, ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(fused.weights[0].shift, ElementsAre(1, 2, 3, 4));
}

TEST(OnnxReshape, WithoutAScaleAndWithNumbersPerGroup) {
  OnnxModel model = grouped_model(4, {1, 4, 8, 6, 4}, torch_groups, {1, 4, 8, 6, 4});
  model.tensor("three", {2}, {3, 4});
  model.proto.mutable_graph()->mutable_node(1)->set_input(1, "three");
  const LoadedNetwork loaded = model.read();
  EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/out.n", Norm{2, 0.5F, {}}, {0}}}));
  EXPECT_THAT(loaded.weights[0].scale, ElementsAre(3, 3, 4, 4));
  EXPECT_THAT(loaded.weights[0].shift, ElementsAre(0, 0, 0, 0));
}

TEST(OnnxReshape, FoldedTargetsOfDeclaredExtents) {
  const Integers extents = {3, 4, 8, 6, 4};
  for (const Integers& groups : {Integers{0, 2, -1}, {3, 2, -1}, {3, 2, 384}, {0, 2, 384}, {-1, 2, 384}}) {
    EXPECT_EQ(grouped_model(4, extents, groups, extents).refusal(), "");
  }
  for (const Integers& back : {Integers{-1, 4, 8, 6, 4}, {0, 4, 8, 6, 4}, {3, -1, 8, 6, 4}, {0, 4, 8, 6, -1}}) {
    EXPECT_EQ(grouped_model(4, extents, torch_groups, back).refusal(), "");
  }
}

// An extent of 0 copies that of the axis before the groups are undone: of the groups, not of the channels.
TEST(OnnxReshape, EachChannelMayBeAGroup) {
  OnnxModel model = grouped_model(2, {1, 2, 8, 6, 4}, {0, 0, -1}, {0, 0, 8, 6, 4});
  EXPECT_EQ(model.read().network.nodes, (std::vector<Node>{{"/out.n", Norm{2, 0.5F, {}}, {0}}}));
  EXPECT_THAT(grouped_model(4, {1, 4, 8, 6, 4}, torch_groups, {0, 0, 8, 6, 4}).refusal(),
              HasSubstr("of groups to [1, 2, 8, 6, 4] is not supported; only back to [1, 4, 8, 6, 4]"));
}

TEST(OnnxReshape, NetsOfFewerAxes) {
  for (const int axes : {1, 2}) {
    OnnxModel model(4, axes);
    model.integers("groups", torch_groups);
    model.node("Shape", {"in"}, {"shape"});
    add_groups(model, "in", "out", "shape");
    EXPECT_EQ(model.output("out").read().network.nodes, (std::vector<Node>{{"/out.n", Norm{2, 0.5F, {}}, {0}}}));
  }
}

// In a net that pools, each Reshape has extents of its own.
TEST(OnnxReshape, ShapesOfOpenAxesBelowAPooling) {
  OnnxModel model(2);
  model.integers("groups", torch_groups);
  model.tensor("scales", {5}, {1, 1, 2, 2, 2});
  onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"p"});
  for (const char* name : {"kernel_shape", "strides"}) test::set_integers(pool, name, {2, 2, 2});
  model.node("Shape", {"p"}, {"shape"});
  add_groups(model, "p", "q", "shape");
  onnx::NodeProto& up = model.node("Resize", {"q", "", "scales"}, {"up"});
  test::set_text(up, "coordinate_transformation_mode", "asymmetric");
  test::set_text(up, "nearest_mode", "floor");
  model.node("Add", {"up", "in"}, {"out"});
  EXPECT_EQ(model.output("out").refusal(), "");
  // The extents of the input are twice as large.
  model.proto.mutable_graph()->mutable_node(1)->set_input(0, "in");
  EXPECT_THAT(model.refusal(), HasSubstr("node '/q' (Reshape): of groups to [1, 2, n, n, n] is not supported"));
}

TEST(OnnxReshape, ConstantTargetsOfOpenAxesAreRefused) {
  OnnxModel model(4);
  model.integers("groups", torch_groups);
  model.integers("back", {1, 4, 8, 6, 4});
  add_groups(model, "in", "out", "back");
  EXPECT_EQ(model.output("out").refusal(),
            "unsupported: node '/out' (Reshape): of groups to [1, 4, 8, 6, 4] is not supported; only back to [1, 4, n, "
            "n, n], the extents before the groups; the file leaves them open: export with static axes");
}

TEST(OnnxReshape, AnyOtherReshapeIsRefused) {
  const Integers extents = {1, 4, 8, 6, 4};
  EXPECT_EQ(grouped_model(4, extents, {-1}, extents).refusal(),
            "unsupported: node '/out.g' (Reshape): to [-1] is not supported; only to [N, groups, -1] before an "
            "InstanceNormalization, which is how GroupNorm is exported, and back");
  // What keeps the order of elements is laid out so, and refused where it is read.
  const char* const is_laid = "node '/out.n' (InstanceNormalization): reads voxels that are laid out as tokens";
  const std::pair<Integers, const char*> wrong[] = {
      {{1, -1}, "node '/out.n' (InstanceNormalization): its input is flattened, which is not supported here"},
      {{2, -1}, "to [2, -1] is not supported; only to [1, 768], all numbers of a patch"},
      {{1, 3, -1}, "to [1, 3, -1] makes 3 groups of 4 channels, which does not divide; a divisor is right"},
      {{1, 8, -1}, is_laid},
      {{1, -1, 384}, is_laid},
      {{2, 2, -1}, is_laid},
      {{1, 2, 385}, "of [1, 4, 8, 6, 4] to [1, 2, 385] is not supported"},
      {{1, 8, 4, 6, 4}, is_laid},
      {{1, 2, 2, 8, 6, 4}, is_laid},
      {{1, 1, 1, 1, 1, 1, 1, 1, 1}, "to 9 axes is not supported"},
      {{-1, 2, -1}, "leaves two extents open"},
      {{}, "to [] is not supported"}};
  for (const auto& [groups, says] : wrong) {
    EXPECT_THAT(grouped_model(4, extents, groups, extents).refusal(), HasSubstr(says));
  }
  for (const Integers& back : {Integers{1, 4, 8, 4, 6}, {1, 2, -1}}) {
    EXPECT_THAT(grouped_model(4, extents, torch_groups, back).refusal(), HasSubstr("is transposed or reshaped"));
  }
  EXPECT_THAT(grouped_model(4, extents, torch_groups, {1, 2, 5}).refusal(), HasSubstr("of groups to [1, 2, 5]"));
}

TEST(OnnxReshape, AZeroThatIsNoCopy) {
  const Integers extents = {1, 4, 8, 6, 4};
  OnnxModel model = grouped_model(4, extents, torch_groups, extents);
  test::set_integer(*model.proto.mutable_graph()->mutable_node(0), "allowzero", 1);
  EXPECT_THAT(model.refusal(), HasSubstr("of [1, 4, 8, 6, 4] to [0, 2, -1] is not supported"));
}

TEST(OnnxReshape, ShapesThatAreNoIntegersOrNotThere) {
  const Integers extents = {1, 4, 8, 6, 4};
  OnnxModel reals = grouped_model(4, extents, torch_groups, extents);
  reals.tensor("reals", {3});
  reals.proto.mutable_graph()->mutable_node(0)->set_input(1, "reals");
  EXPECT_THAT(reals.refusal(), HasSubstr("its shape 'reals': holds something else than integers"));
  OnnxModel voxels = grouped_model(4, extents, torch_groups, extents);
  voxels.proto.mutable_graph()->mutable_node(0)->set_input(1, "in");
  EXPECT_THAT(voxels.refusal(), HasSubstr("its shape 'in' is computed of something else than constants and shapes"));
  OnnxModel missing = grouped_model(4, extents, torch_groups, extents);
  missing.proto.mutable_graph()->mutable_node(0)->set_input(1, "");
  EXPECT_THAT(missing.refusal(), HasSubstr("input 1 is missing"));
}

TEST(OnnxReshape, NothingElseReadsGroups) {
  OnnxModel model(4);
  model.integers("groups", torch_groups);
  model.node("Reshape", {"in", "groups"}, {"g"});
  model.node("Relu", {"g"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(),
              HasSubstr("node '/out' (Relu): input 'g' is reshaped into groups of channels, which is not supported"));
  OnnxModel ends(4);
  ends.integers("groups", torch_groups);
  ends.node("Reshape", {"in", "groups"}, {"out"});
  EXPECT_THAT(ends.output("out").refusal(), HasSubstr("the output 'out' is transposed or reshaped"));
}

TEST(OnnxReshape, GroupsThatAreNotNormalisedAreNone) {
  OnnxModel model(4);
  declare(model, {1, 4, 8, 6, 4});
  model.integers("groups", torch_groups);
  model.integers("back", {1, 4, 8, 6, 4});
  model.node("Reshape", {"in", "groups"}, {"g"});
  model.node("Reshape", {"g", "back"}, {"h"});
  model.node("Relu", {"h"}, {"out"});
  EXPECT_EQ(model.output("out").read().network.nodes.size(), 1U);
}

TEST(OnnxReshape, NothingIsAskedBehindARefusedNode) {
  OnnxModel model(4);
  model.integers("groups", {0, 3, -1});
  model.node("Einsum", {"in"}, {"x"});
  model.node("Shape", {"x"}, {"shape"});
  add_groups(model, "x", "out", "shape");
  const Blockers blockers = model.output("out").blockers();
  ASSERT_EQ(blockers.kinds.size(), 1U);
  EXPECT_EQ(blockers.kinds[0].what, "Einsum");
}

}  // namespace
}  // namespace znni
