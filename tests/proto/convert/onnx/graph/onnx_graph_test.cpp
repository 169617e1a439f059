#include "proto/convert/onnx/graph/onnx_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> order(const OnnxModel& model) {
  const Result<OnnxGraph> graph = make_onnx_graph(model.proto);
  if (!graph) return {graph.error().message};
  std::vector<std::string> names;
  for (const onnx::NodeProto* node : graph->nodes) names.push_back(node->output(0));
  return names;
}

TEST(OnnxGraph, NodesAreSortedAndUnneededOnesDropped) {
  OnnxModel model;
  model.node("Add", {"b", "a"}, {"out"});
  model.node("Relu", {"a"}, {"b"});
  model.node("NoSuchOperator", {"a"}, {"unused"});
  model.node("Relu", {"in"}, {"a"});
  EXPECT_THAT(order(model.output("out")), ElementsAre("a", "b", "out"));
}

TEST(OnnxGraph, OtherwiseTheFilesOrderStays) {
  OnnxModel model;
  model.node("Relu", {"in"}, {"z"});
  model.node("Relu", {"in"}, {"y"});
  model.node("Relu", {"in"}, {"x"});
  model.node("Concat", {"x", "y", "z"}, {"out"});
  EXPECT_THAT(order(model.output("out")), ElementsAre("z", "y", "x", "out"));
}

// A branch reads "late" of the outer graph, and "inner" of its own.
TEST(OnnxGraph, NodesComeAfterWhatTheirBranchesRead) {
  OnnxModel model;
  onnx::NodeProto& node = model.node("If", {"in"}, {"out"});
  onnx::AttributeProto& branch = *node.add_attribute();
  branch.set_name("then_branch");
  branch.set_type(onnx::AttributeProto::GRAPH);
  onnx::NodeProto& inner = *branch.mutable_g()->add_node();
  inner.set_op_type("Relu");
  inner.add_input("late");
  inner.add_output("inner");
  for (const char* name : {"inner", "passed_on"}) branch.mutable_g()->add_output()->set_name(name);
  model.node("Relu", {"in"}, {"late"});
  model.node("Relu", {"in"}, {"passed_on"});
  model.node("Relu", {"in"}, {"unneeded"});
  EXPECT_THAT(tensors_read_by(model.proto.graph().node(0)), ElementsAre("in", "late", "inner", "passed_on"));
  EXPECT_THAT(order(model.output("out")), ElementsAre("late", "passed_on", "out"));
}

TEST(OnnxGraph, InitializersMayBeListedAsInputs) {
  OnnxModel model;
  model.conv("in", "out", 1, 1, {1, 1, 1});
  model.proto.mutable_graph()->add_input()->set_name("out.w");
  model.proto.mutable_graph()->add_input()->set_name("out.b");
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("out").proto);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->input, "in");
  EXPECT_EQ(graph->output, "out");
  EXPECT_EQ(graph->constants.size(), 2U);
}

TEST(OnnxGraph, ConstantsOfNodesAndThroughIdentity) {
  OnnxModel model;
  onnx::AttributeProto& one = *model.node("Constant", {}, {"one"}).add_attribute();
  one.set_name("value");
  one.set_type(onnx::AttributeProto::TENSOR);
  one.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  one.mutable_t()->add_float_data(2);
  test::set_real(model.node("Constant", {}, {"two"}), "value_float", 3);
  onnx::AttributeProto& three = *model.node("Constant", {}, {"three"}).add_attribute();
  three.set_name("value_floats");
  three.set_type(onnx::AttributeProto::FLOATS);
  three.add_floats(4);
  model.node("Identity", {"three"}, {"same"});
  model.node("Mul", {"in", "one"}, {"a"});
  model.node("Add", {"a", "two"}, {"b"});
  model.node("Add", {"b", "same"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  ASSERT_EQ(loaded.weights.size(), 3U);
  EXPECT_THAT(loaded.weights[0].scale, ElementsAre(2));
  EXPECT_THAT(loaded.weights[1].shift, ElementsAre(3));
  EXPECT_THAT(loaded.weights[2].shift, ElementsAre(4));
}

TEST(OnnxGraph, OtherConstantsAreRefusedWhereTheyAreNeeded) {
  OnnxModel model;
  test::set_text(model.node("Constant", {}, {"c"}), "value_string", "three");
  model.node("Add", {"in", "c"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("node '/c' (Constant)"));
  OnnxModel integer;
  test::set_integer(integer.node("Constant", {}, {"c"}), "value_int", 3);
  integer.node("Add", {"in", "c"}, {"out"});
  EXPECT_THAT(integer.output("out").refusal(), HasSubstr("node '/out' (Add): tensor 'c': has type INT64"));
}

TEST(OnnxGraph, Cycles) {
  OnnxModel model;
  model.node("Relu", {"b"}, {"a"});
  model.node("Relu", {"a"}, {"b"});
  EXPECT_THAT(model.output("b").refusal(), HasSubstr("corrupt_file: node '/a' (Relu): is part of a cycle"));
  OnnxModel self;
  self.node("Relu", {"a"}, {"a"});
  EXPECT_THAT(self.output("a").refusal(), HasSubstr("cycle"));
}

TEST(OnnxGraph, NamesWrittenTwiceOrNever) {
  OnnxModel twice;
  twice.node("Relu", {"in"}, {"a"});
  twice.node("Relu", {"in"}, {"a"});
  EXPECT_THAT(twice.output("a").refusal(), HasSubstr("tensor 'a' is written twice"));
  OnnxModel input;
  input.node("Relu", {"in"}, {"in"});
  EXPECT_THAT(input.output("in").refusal(), HasSubstr("tensor 'in' is written twice"));
  OnnxModel initializers;
  initializers.tensor("w", {1});
  initializers.tensor("w", {1});
  initializers.node("Relu", {"in"}, {"a"});
  EXPECT_THAT(initializers.output("a").refusal(), HasSubstr("initializer 'w' stands twice"));
  OnnxModel missing;
  missing.node("Relu", {"nobody"}, {"a"});
  EXPECT_THAT(missing.output("a").refusal(), HasSubstr("node '/a' (Relu): no node writes its input 'nobody'"));
  OnnxModel no_output;
  no_output.node("Relu", {"in"}, {"a"});
  EXPECT_THAT(no_output.output("b").refusal(), HasSubstr("no node writes the output 'b'"));
}

// Returns a model of inputs "in" of 1 channel, "b" of 2, and "c", which only the output "other" reads.
OnnxModel two_inputs() {
  OnnxModel model;
  model.input("b", 2);
  model.input("c", 3);
  model.node("Concat", {"b", "in"}, {"a"});
  model.node("Relu", {"c"}, {"other"});
  return model;
}

std::vector<std::string> inputs_of(const OnnxGraph& graph) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto* input : graph.inputs) names.push_back(input->name());
  return names;
}

TEST(OnnxGraph, SeveralInputsAreSplitOffOne) {
  const OnnxModel model = two_inputs().output("a");
  const Result<OnnxGraph> graph = make_onnx_graph(model.proto);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->input, "in,b");
  EXPECT_THAT(inputs_of(*graph), ElementsAre("in", "b")) << "in the file's order, without what nothing reads";
  ASSERT_EQ(graph->nodes.size(), 2U);
  EXPECT_EQ(graph->nodes.front(), graph->split.get());
  EXPECT_EQ(graph->split->op_type(), "Split");
  EXPECT_THAT(graph->split->output(), ElementsAre("in", "b"));
  EXPECT_THAT(graph->split->attribute(1).ints(), ElementsAre(1, 2));
}

TEST(OnnxGraph, OfWhichOnlyThoseThatAreNeeded) {
  const OnnxModel model = two_inputs().output("a").output("other");
  EXPECT_EQ(make_onnx_graph(model.proto)->input, "in,b,c");
  const Result<OnnxGraph> one = make_onnx_graph(model.proto, {"other"});
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->input, "c");
  EXPECT_EQ(one->split, nullptr);
  EXPECT_EQ(make_onnx_graph(OnnxModel(model).output("in").proto, {"in"})->input, "in") << "an output that is an input";
}

TEST(OnnxGraph, ASplitTakesNoNameFromATensor) {
  OnnxModel model = two_inputs().output("a");
  model.node("Relu", {"in"}, {"in,b"});
  EXPECT_EQ(make_onnx_graph(model.proto)->input, "in,b'");
}

TEST(OnnxGraph, InputsThatAreNone) {
  OnnxModel twice = two_inputs().output("a");
  twice.input("b", 2);
  EXPECT_THAT(twice.refusal(), HasSubstr("corrupt_file: input 'b' stands twice"));
  OnnxModel unnamed = two_inputs().output("a");
  unnamed.input("", 2);
  EXPECT_THAT(unnamed.refusal(), HasSubstr("corrupt_file: an input of the graph has no name"));
  OnnxModel none;
  none.node("Relu", {"in"}, {"a"});
  none.proto.mutable_graph()->clear_input();
  EXPECT_THAT(none.output("a").refusal(), HasSubstr("unsupported: the graph has no input"));
  OnnxModel written = two_inputs().output("a");
  written.node("Relu", {"in"}, {"c"});
  EXPECT_THAT(written.refusal(), HasSubstr("tensor 'c' is written twice"));
}

// Returns a model with outputs "a" and "b"; "c" is not an output.
OnnxModel two_outputs() {
  OnnxModel model;
  model.node("Relu", {"in"}, {"a"});
  model.node("Elu", {"a"}, {"b"});
  model.node("Tanh", {"in"}, {"c"});
  model.output("a").output("b");
  return model;
}

TEST(OnnxGraph, SeveralOutputsAreJoined) {
  const OnnxModel model = two_outputs();
  const Result<OnnxGraph> graph = make_onnx_graph(model.proto);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(graph->outputs, ElementsAre("a", "b"));
  EXPECT_EQ(graph->output, "a,b");
  ASSERT_EQ(graph->nodes.size(), 3U);
  EXPECT_EQ(graph->nodes.back(), graph->join.get());
  EXPECT_EQ(graph->join->op_type(), "Concat");
  EXPECT_THAT(graph->join->input(), ElementsAre("a", "b"));
}

TEST(OnnxGraph, OfWhichSomeMayBeWanted) {
  const OnnxModel model = two_outputs();
  const Result<OnnxGraph> one = make_onnx_graph(model.proto, {"a"});
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->output, "a");
  EXPECT_EQ(one->join, nullptr);
  EXPECT_EQ(one->nodes.size(), 1U);
  EXPECT_EQ(make_onnx_graph(model.proto, {"b", "a"})->output, "b,a") << "in the order in which they are wanted";
  EXPECT_EQ(make_onnx_graph(model.proto, {"a", "c"}).error().message,
            "output 'c' is wanted, which the file has not; it has 'a', 'b'");
  EXPECT_EQ(make_onnx_graph(model.proto, {"a", "a"}).error().message, "output 'a' is wanted twice; name it once");
}

TEST(OnnxGraph, AJoinTakesNoNameFromATensor) {
  OnnxModel model = two_outputs();
  model.node("Relu", {"in"}, {"a,b"});
  EXPECT_EQ(make_onnx_graph(model.proto)->output, "a,b'");
  OnnxModel named = two_outputs();
  named.tensor("a,b'", {1});
  named.proto.mutable_graph()->mutable_input(0)->set_name("a,b");
  named.proto.mutable_graph()->mutable_node(0)->set_input(0, "a,b");
  named.proto.mutable_graph()->mutable_node(2)->set_input(0, "a,b");
  EXPECT_EQ(make_onnx_graph(named.proto)->output, "a,b''");
}

TEST(OnnxGraph, OutputsThatAreNone) {
  OnnxModel none;
  none.node("Relu", {"in"}, {"a"});
  EXPECT_THAT(none.refusal(), HasSubstr("the graph has no output"));
  EXPECT_THAT(two_outputs().output("a").refusal(), HasSubstr("output 'a' stands twice"));
  EXPECT_THAT(two_outputs().output("").refusal(), HasSubstr("an output of the graph has no name"));
}

TEST(OnnxGraph, OperatorSets) {
  for (const std::int64_t opset : {7, 9, 11, 13, 17, 18, 22, 28}) {
    OnnxModel model(1, 3, opset);
    model.node("Relu", {"in"}, {"a"});
    EXPECT_EQ(model.output("a").refusal(), "") << opset;
  }
  for (const std::int64_t opset : {-1, 1, 6, 29, 1000}) {
    OnnxModel model(1, 3, opset);
    model.node("Relu", {"in"}, {"a"});
    EXPECT_THAT(model.output("a").refusal(),
                HasSubstr("operator set " + std::to_string(opset) + " is not supported; 7 to 28 are"));
  }
  OnnxModel other;
  other.proto.mutable_opset_import(0)->set_domain("com.microsoft");
  other.node("Relu", {"in"}, {"a"});
  EXPECT_THAT(other.output("a").refusal(), HasSubstr("imports no operator set of ONNX"));
}

TEST(OnnxGraph, NotAModel) {
  EXPECT_THAT(make_onnx_graph(onnx::ModelProto()).error().message, HasSubstr("it has no graph"));
  OnnxModel sparse;
  sparse.node("Relu", {"in"}, {"a"});
  sparse.proto.mutable_graph()->add_sparse_initializer();
  EXPECT_THAT(sparse.output("a").refusal(), HasSubstr("sparse initializers are not supported"));
}

TEST(OnnxGraph, NodesWithoutANameAreCalledByTheirOutput) {
  OnnxModel model;
  model.node("Elu", {"in"}, {"unnamed"}).clear_name();
  EXPECT_EQ(model.output("unnamed").read().network.nodes[0].name, "unnamed");
  EXPECT_EQ(called(model.proto.graph().node(0)), "node 'unnamed' (Elu)");
}

TEST(OnnxGraph, LongChainsDoNotRecurse) {
  OnnxModel model;
  std::string before = "in";
  for (int i = 0; i < 20000; ++i) {
    const std::string name = test::numbered("n", i);
    model.node("Relu", {before}, {name});
    before = name;
  }
  EXPECT_EQ(model.output(before).read().network.nodes.size(), 20000U);
}

}  // namespace
}  // namespace znni
