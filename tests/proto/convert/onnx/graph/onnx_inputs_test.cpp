#include "proto/convert/onnx/graph/onnx_inputs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/graph_passes.hpp"
#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

// Adds "a", of 2 channels, to a convolution of "in", of 1, to as many.
OnnxModel late() {
  OnnxModel model(1);
  model.input("a", 2);
  model.conv("in", "b", 1, 2, {1, 1, 1});
  model.node("Add", {"a", "b"}, {"out"});
  return model.output("out");
}

void set_extents(OnnxModel& model, int input, const std::vector<std::int64_t>& extents) {
  auto* type = model.proto.mutable_graph()->mutable_input(input)->mutable_type()->mutable_tensor_type();
  onnx::TensorShapeProto& shape = *type->mutable_shape();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] > 0) shape.mutable_dim(static_cast<int>(i) + 2)->set_dim_value(extents[i]);
  }
}

TEST(OnnxInputs, SeveralAreCopiesOfChannelsOfOne) {
  const LoadedNetwork loaded = late().read();
  EXPECT_EQ(loaded.network.input_name, "in,a");
  EXPECT_EQ(loaded.network.f_in, 3);
  EXPECT_EQ(loaded.network.inputs, (std::vector<NamedTensor>{{"in", 1}, {"a", 2}}));
  EXPECT_THAT(loaded.weights[0].kernels, ElementsAre(1, 0, 0));
  EXPECT_THAT(loaded.weights[1].kernels, ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(describe(loaded.network),
              ElementsAre("inputs: conv 3 -> 1, k 1x1x1 <- in,a", "inputs #2: conv 3 -> 2, k 1x1x1 <- in,a",
                          "/b: conv 1 -> 2, k 1x1x1 <- inputs", "/out: add 2 <- inputs #2, /b"));
  const LoadedNetwork fused = fold_and_fuse(loaded);
  EXPECT_TRUE(check(fused.network));
  EXPECT_EQ(fused.network.inputs, loaded.network.inputs);
}

TEST(OnnxInputs, AllOfThemSideBySideAreTheInputItself) {
  const auto nodes_of = [](const char* first, const char* second) {
    OnnxModel model(1);
    model.input("a", 2);
    test::set_integer(model.node("Concat", {first, second}, {"both"}), "axis", 1);
    model.node("Relu", {"both"}, {"out"});
    return model.output("out").read().network.nodes;
  };
  const std::vector<Node> nodes = nodes_of("in", "a");
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes.front().inputs, std::vector<int>{0});
  EXPECT_EQ(nodes_of("a", "in").size(), 4U) << "in another order they are copies";
}

TEST(OnnxInputs, AnInputMayBeAnOutput) {
  OnnxModel model = late();
  const LoadedNetwork loaded = model.output("a").read();
  EXPECT_EQ(loaded.network.outputs, (std::vector<NamedTensor>{{"out", 2}, {"a", 2}}));
}

TEST(OnnxInputs, TheirExtentsAreThoseThatOneOfThemDeclares) {
  OnnxModel model = late();
  set_extents(model, 1, {8, 0, 16});
  const Result<OnnxGraph> graph = make_onnx_graph(model.proto);
  ASSERT_TRUE(graph);
  EXPECT_EQ(declared_extent(*graph, 3), (Vec3{8, 0, 16}));
  EXPECT_EQ(declared_batch(*graph), 1);
  EXPECT_EQ(form_of(*graph)->f_in, 3);
  EXPECT_EQ(form_of(*graph)->rank, 3);
}

TEST(OnnxInputs, ThoseThatDifferAreRefused) {
  OnnxModel extents = late();
  set_extents(extents, 0, {8, 8, 8});
  set_extents(extents, 1, {8, 4, 8});
  EXPECT_EQ(extents.refusal(),
            "unsupported: its inputs 'in', 'a' are read as channels of one, for which they must have one extent ('a' "
            "has an extent of 4 along axis 3, another an extent of 8)");
  OnnxModel for_all = late();
  set_extents(for_all, 1, {1, 1, 1});
  EXPECT_THAT(for_all.refusal(), HasSubstr("'in' has an open extent along axis 2, another an extent of 1"));
  OnnxModel batch = late();
  for (int i = 0; i < 2; ++i) {
    auto* type = batch.proto.mutable_graph()->mutable_input(i)->mutable_type()->mutable_tensor_type();
    type->mutable_shape()->mutable_dim(0)->set_dim_value(i + 1);
  }
  EXPECT_THAT(batch.refusal(), HasSubstr("'a' has an extent of 2 along axis 0"));
  OnnxModel rank(1);
  rank.input("a", 1, 2);
  rank.node("Add", {"in", "a"}, {"out"});
  EXPECT_THAT(rank.output("out").refusal(), HasSubstr("'a' has other axes than the first"));
}

TEST(OnnxInputs, ThoseThatDoNotMeetAreRefused) {
  OnnxModel model(1);
  model.input("a", 2);
  model.conv("in", "b", 1, 2, {3, 3, 3});
  model.node("Add", {"a", "b"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(),
              HasSubstr("unsupported: its inputs 'in', 'a' are read as channels of one"));
  EXPECT_EQ(model.blockers().kinds.front().what, "inputs of different extents");
}

TEST(OnnxInputs, ErrorsNameTheInput) {
  OnnxModel open = late();
  open.proto.mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_param("C");
  EXPECT_THAT(open.refusal(), HasSubstr("input 'a': does not say how many channels it has"));
  OnnxModel whole = late();
  whole.proto.mutable_graph()->mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::INT64);
  EXPECT_THAT(whole.refusal(), HasSubstr("input 'a': has elements of type number 7; FLOAT is right"));
  OnnxModel many = late();
  many.input("huge", std::int64_t{1} << 20);
  many.node("Concat", {"out", "huge"}, {"more"});
  many.proto.mutable_graph()->mutable_output(0)->set_name("more");
  EXPECT_THAT(many.refusal(), HasSubstr("its inputs have 1048579 channels"));
}

// A branch may write a tensor of the name that the joined inputs have.
TEST(OnnxInputs, ABranchThatTakesTheNameOfTheJoinedInputsIsRefused) {
  OnnxModel model = late();
  onnx::TensorProto& yes = *model.proto.mutable_graph()->add_initializer();
  yes.set_name("yes");
  yes.set_data_type(onnx::TensorProto::BOOL);
  yes.add_int32_data(1);
  onnx::NodeProto& choice = model.node("If", {"yes"}, {"c"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& branch = *choice.add_attribute();
    branch.set_name(name);
    branch.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto& inner = *branch.mutable_g()->add_node();
    inner.set_op_type("Elu");
    inner.add_input("out");
    inner.add_output("in,a");
    branch.mutable_g()->add_output()->set_name("in,a");
  }
  model.proto.mutable_graph()->mutable_output(0)->set_name("c");
  EXPECT_THAT(model.refusal(), HasSubstr("tensor 'in,a' is written twice"));
}

// Copies have no more numbers than is plausible for the file.
TEST(OnnxInputs, CopiesOfAMillionChannelsAreRefused) {
  OnnxModel model(1);
  model.input("a", (std::int64_t{1} << 20) - 1);
  model.node("Relu", {"in"}, {"r"});
  model.node("Concat", {"a", "r"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("more than is plausible for a file of this size"));
}

}  // namespace
}  // namespace znni
