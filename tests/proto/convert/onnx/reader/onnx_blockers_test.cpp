#include "proto/convert/onnx/reader/onnx_blockers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::numbered;
using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

// Returns "kind x count" of each kind.
std::vector<std::string> kinds_of(const Blockers& blockers) {
  std::vector<std::string> kinds;
  for (const Blocker& blocker : blockers.kinds) kinds.push_back(blocker.what + " x " + std::to_string(blocker.count));
  return kinds;
}

TEST(OnnxBlockers, AModelThatIsReadHasNone) { EXPECT_EQ(test::rich_model().blockers(), Blockers()); }

TEST(OnnxBlockers, AllOfThemGroupedInTheOrderOfTheirFirstNodes) {
  OnnxModel model(4);
  for (const char* name : {"gamma", "beta"}) model.tensor(name, {4});
  model.node("RMSNormalization", {"in", "gamma", "beta"}, {"a"});
  test::set_integers(model.conv("a", "b", 4, 4, {1, 1, 1}), "strides", {0, 1, 1});
  model.node("RMSNormalization", {"b", "gamma", "beta"}, {"c"});
  test::set_integers(model.conv("c", "d", 4, 4, {1, 1, 1}), "strides", {1, 1, 0});
  model.node("Relu", {"d"}, {"e"});
  const Blockers blockers = model.output("e").blockers();
  EXPECT_EQ(
      blockers.kinds,
      (std::vector<Blocker>{{"RMSNorm", "not supported", "train with BatchNorm, InstanceNorm or GroupNorm", "/a", 2},
                            {"Conv", "attribute 'strides' holds 0; 1 to 2^20 is right", "", "/b", 2}}));
  EXPECT_EQ(blockers.count, 4);
  EXPECT_EQ(blockers.unlisted, 0);
  EXPECT_TRUE(blockers.is_whole);
}

TEST(OnnxBlockers, RefusalsThatDifferInNumbersAndNamesAreOfOneKind) {
  OnnxModel model;
  for (const int power : {3, 4}) {
    onnx::NodeProto& norm = model.node("LpNormalization", {power == 3 ? "in" : "a"}, {power == 3 ? "a" : "b"});
    test::set_integer(norm, "p", power);
  }
  test::set_integers(model.node("MaxPool", {"b"}, {"c"}), "kernel_shape", {0, 1, 1});
  EXPECT_THAT(kinds_of(model.output("c").blockers()), ElementsAre("LpNormalization x 2", "MaxPool x 1"));
}

// Returns nodes behind the first one, which no number of channels would suit all.
OnnxModel behind(std::string_view operation) {
  OnnxModel model(2, 3);
  for (const char* name : {"gamma", "beta"}) model.tensor(name, {2});
  model.node(operation, {"in", "gamma", "beta"}, {"a"});
  model.conv("a", "b", 5, 3, {1, 1, 1});
  test::set_integer(model.node("Concat", {"a", "b"}, {"c"}), "axis", 1);
  model.conv("c", "d", 8, 4, {1, 1, 1});
  for (const char* part : {"scale", "shift", "mean", "variance"}) model.tensor(part, {7}, std::vector<float>(7, 1.0F));
  model.node("BatchNormalization", {"a", "scale", "shift", "mean", "variance"}, {"e"});
  model.tensor("factors", {7, 1, 1, 1});
  model.node("Mul", {"a", "factors"}, {"f"});
  model.tensor("turned.w", {9, 2, 2, 2, 2});
  model.node("ConvTranspose", {"a", "turned.w"}, {"g"});
  model.node("Sum", {"d", "e", "f", "g"}, {"out"});
  model.output("out");
  return model;
}

TEST(OnnxBlockers, NothingIsAskedOfChannelsBehindARefusedNode) {
  EXPECT_THAT(kinds_of(behind("Einsum").blockers()), ElementsAre("Einsum x 1", "Sum x 1"));
}

TEST(OnnxBlockers, ChannelsBehindANodeThatKeepsThemAreChecked) {
  const Blockers blockers = behind("RMSNormalization").blockers();
  EXPECT_THAT(kinds_of(blockers), ElementsAre("RMSNorm x 1", "Conv x 1", "BatchNormalization x 1", "Mul x 1",
                                              "ConvTranspose x 1", "Sum x 1"));
  EXPECT_THAT(blockers.kinds[1].reason, HasSubstr("are for 5 channels; the input has 2"));
}

TEST(OnnxBlockers, NothingIsAskedOfExtentsAndAxesBehindARefusedNode) {
  for (const char* operation : {"Einsum", "Relu"}) {
    OnnxModel model;
    model.integers("starts", {1});
    model.integers("ends", {8});
    model.integers("axes", {2});
    model.integers("sizes", {1, 1, 16, 16, 16});
    model.node(operation, {"in"}, {"a"});
    model.node("Slice", {"a", "starts", "ends", "axes"}, {"b"});
    model.node("Resize", {"a", "", "", "sizes"}, {"c"});
    model.node("Softmax", {"a"}, {"d"});
    test::set_integers(model.node("Transpose", {"a"}, {"e"}), "perm", {0, 4, 1, 2, 3});
    model.node("Relu", {"e"}, {"f"});
    model.node("Sum", {"b", "c", "d", "f"}, {"out"});
    const std::vector<std::string> kinds = kinds_of(model.output("out").blockers());
    if (operation == std::string("Einsum")) {
      EXPECT_THAT(kinds, ElementsAre("Einsum x 1", "Sum x 1"));
    } else {
      EXPECT_THAT(kinds, ElementsAre("Slice by an open extent x 1", "Resize to fixed sizes x 1", "Softmax x 1",
                                     "Relu x 1", "Sum x 1"));
    }
  }
}

TEST(OnnxBlockers, NodesOfAModuleCountOnceAndKeepItsForm) {
  OnnxModel model(2);
  for (const char* name : {"root", "one"}) model.tensor(name, {1}, {1.5F});
  model.node("Div", {"in", "root"}, {"a"});
  model.node("Erf", {"a"}, {"b"});
  model.node("Add", {"b", "one"}, {"c"});
  model.node("Mul", {"in", "c"}, {"d"});
  model.conv("d", "out", 3, 1, {1, 1, 1});
  const Blockers blockers = model.output("out").blockers();
  EXPECT_THAT(kinds_of(blockers), ElementsAre("GELU x 1", "Conv x 1"));
  EXPECT_EQ(blockers.kinds[0].first, "/a");
}

OnnxModel with_shapes(std::string_view reader) {
  OnnxModel model;
  model.tensor("c", {1});
  model.node("Shape", {"in"}, {"shape"});
  model.node("Gather", {"shape", "c"}, {"sizes"});
  model.node(reader, {"in", "", "", "sizes"}, {"out"});
  model.output("out");
  return model;
}

TEST(OnnxBlockers, WhatIsComputedFromShapesIsToldWithItsReader) {
  const Blockers blockers = with_shapes("Resize").blockers();
  EXPECT_THAT(kinds_of(blockers), ElementsAre("Resize to computed sizes x 1"));
  EXPECT_EQ(blockers.count, 1);
}

TEST(OnnxBlockers, WhatIsComputedOfWhichAnAcceptedNodeReadsIsABlockerItself) {
  OnnxModel shapes;
  shapes.node("Shape", {"in"}, {"extents"});
  shapes.node("NonZero", {"extents"}, {"shape"});
  shapes.node("Add", {"in", "shape"}, {"out"});
  const Blockers of_shapes = shapes.output("out").blockers();
  EXPECT_THAT(kinds_of(of_shapes), ElementsAre("numbers computed from shapes x 1"));
  EXPECT_EQ(of_shapes.kinds[0].first, "/shape");
  EXPECT_EQ(of_shapes.count, 1);
  OnnxModel constants;
  constants.tensor("c", {1});
  constants.node("ConstantOfShape", {"c"}, {"zeros"});
  constants.node("Add", {"in", "zeros"}, {"out"});
  EXPECT_THAT(kinds_of(constants.output("out").blockers()), ElementsAre("numbers computed from constants x 1"));
}

// Returns nodes that compute with the extents of "a", which the first one writes, and one that asks for another mode.
OnnxModel sized_behind(std::string_view operation, std::string_view mode) {
  OnnxModel model;
  for (const char* bound : {"first", "last"}) model.integers(bound, {bound == std::string_view("first") ? 0 : 1});
  model.node(operation, {"in"}, {"a"});
  model.node("Shape", {"a"}, {"shape"});
  model.node("Slice", {"shape", "first", "last", "first"}, {"batch"});
  test::set_integer(model.node("Concat", {"batch", "shape"}, {"sizes"}), "axis", 0);
  model.node("Equal", {"batch", "first"}, {"is_empty"});
  model.node("Slice", {"in", "batch", "batch", "last"}, {"b"});
  model.node("Pad", {"in", "sizes"}, {"c"});
  test::set_text(model.node("Resize", {"in", "", "", "sizes"}, {"d"}), "mode", mode);
  model.node("Upsample", {"in", "sizes"}, {"e"});
  model.node("If", {"is_empty"}, {"f"});
  model.node("Sum", {"b", "c", "d", "e", "f"}, {"out"});
  model.output("out");
  return model;
}

TEST(OnnxBlockers, NothingIsAskedOfNumbersComputedFromExtentsBehindARefusedNode) {
  EXPECT_THAT(kinds_of(sized_behind("Einsum", "nearest").blockers()), ElementsAre("Einsum x 1", "Sum x 1"));
  EXPECT_THAT(kinds_of(sized_behind("Einsum", "cubic").blockers()),
              ElementsAre("Einsum x 1", "Resize cubic half_pixel x 1", "Sum x 1"));
  EXPECT_THAT(kinds_of(sized_behind("Relu", "nearest").blockers()), testing::SizeIs(testing::Gt(4U)));
}

TEST(OnnxBlockers, ARefusalOfAnInnerNodeIsOneOfItsIf) {
  OnnxModel model;
  model.integer("one", 1);
  model.node("Equal", {"one", "one"}, {"yes"});
  onnx::NodeProto& node = model.node("If", {"yes"}, {"out"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& branch = *node.add_attribute();
    branch.set_name(name);
    branch.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto& inner = *branch.mutable_g()->add_node();
    inner.set_op_type("Einsum");
    inner.add_input("in");
    inner.add_output(name);
    branch.mutable_g()->add_output()->set_name(name);
  }
  const Blockers blockers = model.output("out").blockers();
  EXPECT_THAT(kinds_of(blockers), ElementsAre("If x 1"));
  EXPECT_THAT(blockers.kinds[0].reason, HasSubstr("node 'then_branch' (Einsum): operator is not supported"));
}

TEST(OnnxBlockers, AllOutputsAreFollowed) {
  OnnxModel model;
  model.node("Relu", {"in"}, {"a"});
  model.node("Einsum", {"in"}, {"b"});
  model.output("a").output("b");
  EXPECT_THAT(kinds_of(model.blockers()), ElementsAre("Einsum x 1"));
}

TEST(OnnxBlockers, OutputsThatDifferInExtentAreToBeChosen) {
  OnnxModel model(2);
  model.conv("in", "a", 2, 3, {1, 1, 1});
  model.conv("in", "b", 2, 3, {2, 1, 1});
  model.output("a").output("b");
  const Blockers blockers = model.blockers();
  EXPECT_THAT(kinds_of(blockers), ElementsAre("outputs of different extents x 1"));
  EXPECT_THAT(blockers.kinds.front().reason, HasSubstr("choose by --outputs, or by the parameter 'outputs'"));
  EXPECT_THAT(model.refusal(), HasSubstr("its outputs 'a', 'b' are computed together, for which they must have one"));
}

TEST(OnnxBlockers, ForeignOperatorsHaveTheirDomain) {
  OnnxModel model;
  model.node("Relu", {"in"}, {"a"}).set_domain("com.microsoft");
  EXPECT_THAT(kinds_of(model.output("a").blockers()), ElementsAre("com.microsoft.Relu x 1"));
}

TEST(OnnxBlockers, KindsAreBoundedAndCountsGoOn) {
  OnnxModel model;
  constexpr int kinds = static_cast<int>(max_listed_blockers) + 5;
  for (int i = 0; i < 2 * kinds; ++i) {
    model.node(numbered("Op", i % kinds), {i == 0 ? "in" : numbered("n", i - 1)}, {numbered("n", i)});
  }
  const Blockers blockers = model.output(numbered("n", 2 * kinds - 1)).blockers();
  EXPECT_EQ(blockers.kinds.size(), max_listed_blockers);
  EXPECT_EQ(blockers.kinds[0].count, 2);
  EXPECT_EQ(blockers.count, 2 * kinds);
  EXPECT_EQ(blockers.unlisted, 10);
}

TEST(OnnxBlockers, HostileNamesStayOnOneLine) {
  OnnxModel model;
  model.node("Bad\nOperator", {"in"}, {"a"}).set_name("evil\r\nname" + std::string(1000, 'x'));
  const Blockers blockers = model.output("a").blockers();
  ASSERT_EQ(blockers.kinds.size(), 1U);
  EXPECT_EQ(blockers.kinds[0].what, "Bad?Operator");
  EXPECT_EQ(blockers.kinds[0].first.substr(0, 10), "evil??name");
  EXPECT_LT(blockers.kinds[0].first.size(), 100U);
}

// Refused nodes that share a large tensor do not make its numbers be read over and over.
TEST(OnnxBlockers, NodesThatReadTooMuchEndTheWalk) {
  OnnxModel model;
  model.tensor("large", {1 << 20, 1, 1, 1});
  constexpr int nodes = 100;
  for (int i = 0; i < nodes; ++i)
    model.node("Mul", {i == 0 ? "in" : numbered("n", i - 1), "large"}, {numbered("n", i)});
  const Blockers blockers = model.output(numbered("n", nodes - 1)).blockers();
  EXPECT_FALSE(blockers.is_whole);
  EXPECT_THAT(kinds_of(blockers), testing::SizeIs(1));
  EXPECT_LT(blockers.count, 30);
  EXPECT_EQ(blockers.kinds[0].first, "/n0");
}

}  // namespace
}  // namespace znni
