#include "proto/convert/onnx/reader/onnx_branch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::Integers;
using test::Names;
using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

onnx::GraphProto& graph_in(onnx::NodeProto& node, std::string_view name) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(onnx::AttributeProto::GRAPH);
  return *attribute.mutable_g();
}

onnx::NodeProto& node_in(onnx::GraphProto& graph, std::string_view operation, const Names& inputs,
                         std::string_view output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(std::string(operation));
  node.set_name("/" + std::string(output));
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(std::string(output));
  return node;
}

void add_booleans(OnnxModel& model, std::string_view name, const Integers& values) {
  onnx::TensorProto& tensor = *model.proto.mutable_graph()->add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(onnx::TensorProto::BOOL);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int32_data(static_cast<int>(value));
}

// Adds an If of "yes" whose branches take a Tanh or a Relu of "a"; the else branch computes something unneeded, too.
onnx::NodeProto& add_if(OnnxModel& model) {
  model.node("Sigmoid", {"in"}, {"a"});
  onnx::NodeProto& node = model.node("If", {"yes"}, {"out"});
  onnx::GraphProto& taken = graph_in(node, "then_branch");
  node_in(taken, "Tanh", {"a"}, "t");
  taken.add_output()->set_name("t");
  onnx::GraphProto& other = graph_in(node, "else_branch");
  node_in(other, "NoSuchOperator", {"a"}, "unneeded");
  node_in(other, "Relu", {"a"}, "e");
  other.add_output()->set_name("e");
  model.output("out");
  return node;
}

std::vector<std::string> names_of(const OnnxModel& model) {
  std::vector<std::string> names;
  for (const Node& node : model.read().network.nodes) names.push_back(node.name);
  return names;
}

OnnxModel with_condition(const Integers& values) {
  OnnxModel model(2);
  add_booleans(model, "yes", values);
  add_if(model);
  return model;
}

TEST(OnnxBranch, TheBranchThatIsTakenStandsForTheNode) {
  EXPECT_THAT(names_of(with_condition({1})), ElementsAre("/a", "/t"));
  EXPECT_THAT(names_of(with_condition({0})), ElementsAre("/a", "/e"));
}

// The other branch reads what nothing else does.
TEST(OnnxBranch, WhatOnlyTheOtherBranchReadsIsDropped) {
  OnnxModel model(2);
  add_booleans(model, "yes", {1});
  onnx::NodeProto& node = add_if(model);
  model.conv("in", "only", 2, 2, {3, 3, 3});
  node.mutable_attribute(1)->mutable_g()->mutable_node(1)->set_input(0, "only");
  EXPECT_THAT(names_of(model), ElementsAre("/a", "/t"));
  model.proto.mutable_graph()->mutable_initializer(0)->set_int32_data(0, 0);
  EXPECT_THAT(names_of(model), ElementsAre("/only", "/e"));
}

TEST(OnnxBranch, ConditionsOfSeveralElementsMustAgree) {
  EXPECT_THAT(names_of(with_condition({1, 1, 1})), ElementsAre("/a", "/t"));
  EXPECT_THAT(names_of(with_condition({0, 0, 0})), ElementsAre("/a", "/e"));
  EXPECT_THAT(with_condition({1, 0, 1}).refusal(),
              HasSubstr("node '/out' (If): its condition has 3 elements, some true and some false"));
  EXPECT_THAT(with_condition({}).refusal(), HasSubstr("its condition is no boolean"));
}

// A net of one stride whose extents are compared: equal for all volumes, or for some.
TEST(OnnxBranch, ComparisonsOfExtentsDecide) {
  OnnxModel same(2);
  same.node("Shape", {"in"}, {"before"});
  same.node("Shape", {"a"}, {"after"});
  same.node("Equal", {"before", "after"}, {"yes"});
  add_if(same);
  EXPECT_THAT(names_of(same), ElementsAre("/a", "/t"));
  OnnxModel some(2);
  test::set_integer(some.node("Shape", {"in"}, {"before"}), "start", 2);
  some.integers("sixty", {60});
  some.node("Equal", {"before", "sixty"}, {"yes"});
  add_if(some);
  EXPECT_THAT(some.refusal(), HasSubstr("node '/yes' (Equal): makes of a number that depends on the volume and 60"));
}

TEST(OnnxBranch, ConditionsOfVoxelsAreRefused) {
  OnnxModel model(2);
  add_if(model).set_input(0, "a");
  EXPECT_THAT(model.refusal(), HasSubstr("its condition 'a' is computed from voxels"));
}

TEST(OnnxBranch, BranchesHaveConstantsOfTheirOwn) {
  OnnxModel model(2);
  add_booleans(model, "yes", {1});
  onnx::NodeProto& node = add_if(model);
  onnx::GraphProto& taken = *node.mutable_attribute(0)->mutable_g();
  *taken.add_initializer() = model.integers("starts", {1});
  model.proto.mutable_graph()->mutable_initializer()->RemoveLast();
  test::set_integers(node_in(taken, "Constant", {}, "ends"), "value_ints", {-1});
  test::set_integers(node_in(taken, "Constant", {}, "axes"), "value_ints", {2});
  node_in(taken, "Slice", {"t", "starts", "ends", "axes"}, "cut");
  taken.mutable_output(0)->set_name("cut");
  EXPECT_THAT(names_of(model), ElementsAre("/a", "/t", "/cut"));
  EXPECT_EQ(model.read().network.nodes[2].operation, (Operation(Crop{{1, 0, 0}, {1, 0, 0}})));
}

TEST(OnnxBranch, WrongBranchesAreRefused) {
  OnnxModel missing = with_condition({1});
  missing.proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->set_name("other_branch");
  EXPECT_THAT(missing.refusal(), HasSubstr("attribute 'other_branch' is not supported"));
  OnnxModel outputs = with_condition({1});
  outputs.proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g()->add_output()->set_name("t");
  EXPECT_THAT(outputs.refusal(), HasSubstr("has 1 outputs; its branch has 2"));
  OnnxModel twice = with_condition({1});
  onnx::GraphProto& taken = *twice.proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  taken.mutable_node(0)->set_output(0, "a");
  taken.mutable_output(0)->set_name("a");
  EXPECT_THAT(twice.refusal(), HasSubstr("tensor 'a' is written twice"));
  OnnxModel unwritten = with_condition({1});
  unwritten.proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g()->mutable_output(0)->set_name("x");
  EXPECT_THAT(unwritten.refusal(), HasSubstr("tensor 'x' is no value of the net"));
}

// Adds a Loop of `turns` turns that appends 2 * turn to a sequence, and a Slice from the sequence's element `at` on.
void add_loop(OnnxModel& model, std::int64_t turns, std::int64_t at) {
  model.integer("turns", turns);
  model.integer("at", at);
  model.integer("two", 2);
  model.integers("axis", {2});
  model.integers("zero", {0});
  model.integers("minus_one", {-1});
  model.node("SequenceEmpty", {}, {"none"});
  onnx::NodeProto& loop = model.node("Loop", {"turns", "", "none"}, {"all"});
  onnx::GraphProto& body = graph_in(loop, "body");
  for (const char* name : {"turn", "goes_on", "before"}) body.add_input()->set_name(name);
  node_in(body, "Mul", {"turn", "two"}, "twice");
  node_in(body, "SequenceInsert", {"before", "twice"}, "after");
  node_in(body, "Identity", {"goes_on"}, "next");
  for (const char* name : {"next", "after"}) body.add_output()->set_name(name);
  model.node("SequenceAt", {"all", "at"}, {"scalar"});
  model.node("Unsqueeze", {"scalar", "zero"}, {"start"});
  model.node("Slice", {"in", "start", "minus_one", "axis"}, {"out"});
  model.output("out");
}

OnnxModel with_loop(std::int64_t turns, std::int64_t at) {
  OnnxModel model(2);
  add_loop(model, turns, at);
  return model;
}

onnx::GraphProto& body_of(OnnxModel& model) {
  return *model.proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
}

TEST(OnnxBranch, LoopsOfNumbersAreRun) {
  EXPECT_EQ(with_loop(3, 2).read().network.nodes[0].operation, (Operation(Crop{{4, 0, 0}, {1, 0, 0}})));
  EXPECT_EQ(with_loop(64, -1).read().network.nodes[0].operation, (Operation(Crop{{126, 0, 0}, {1, 0, 0}})));
  EXPECT_THAT(with_loop(2, 2).refusal(), HasSubstr("has position 2 of 2 tensors"));
  EXPECT_THAT(with_loop(0, 0).refusal(), HasSubstr("has position 0 of 0 tensors"));
}

TEST(OnnxBranch, LoopsEndWhenTheirConditionSaysSo) {
  OnnxModel model = with_loop(9, -1);
  onnx::NodeProto& next = *body_of(model).mutable_node(2);
  next.set_op_type("Less");
  next.set_input(0, "turn");
  next.add_input("two");
  EXPECT_EQ(model.read().network.nodes[0].operation, (Operation(Crop{{4, 0, 0}, {1, 0, 0}})));
}

TEST(OnnxBranch, LoopsThatAreNotKnownAreRefused) {
  EXPECT_THAT(with_loop(65, 0).refusal(), HasSubstr("node '/all' (Loop): has more than 64 turns"));
  OnnxModel voxels = with_loop(3, 2);
  body_of(voxels).mutable_node(0)->set_input(1, "in");
  EXPECT_THAT(voxels.refusal(), HasSubstr("node '/twice' (Mul): is not supported in a loop"));
  OnnxModel turns = with_loop(3, 2);
  turns.proto.mutable_graph()->mutable_node(1)->set_input(0, "in");
  EXPECT_THAT(turns.refusal(), HasSubstr("its number of turns is not known"));
  OnnxModel ends = with_loop(3, 2);
  body_of(ends).mutable_output()->RemoveLast();
  EXPECT_THAT(ends.refusal(), HasSubstr("has other inputs and outputs than those it hands from turn to turn"));
  OnnxModel taken = with_loop(3, 2);
  body_of(taken).mutable_node(0)->set_output(0, "two");
  body_of(taken).mutable_node(1)->set_input(1, "two");
  EXPECT_THAT(taken.refusal(), HasSubstr("tensor 'two' is written twice"));
}

}  // namespace
}  // namespace znni
