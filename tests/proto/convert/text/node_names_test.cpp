#include "proto/convert/text/node_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NodeNames, AreMadeOfTheOperationAndItsNumber) {
  NodeNames names("in");
  text::Node conv;
  conv.mutable_conv();
  text::Node pool;
  pool.mutable_average_pool();
  EXPECT_EQ(names.name_of(conv), "conv1");
  EXPECT_EQ(names.name_of(pool), "pool1");
  conv.set_name("own");
  EXPECT_EQ(names.name_of(conv), "own");
  conv.clear_name();
  EXPECT_EQ(names.name_of(conv), "conv3") << "those with their own names count, too";
  EXPECT_EQ(names.name_of({}), "node1");
}

TEST(NodeNames, BeginWithTheFieldOfTheOperationOrAWordThatSeveralShare) {
  const auto name_with = [](auto set) {
    text::Node node;
    (node.*set)();
    return NodeNames("in").name_of(node);
  };
  EXPECT_EQ(name_with(&text::Node::mutable_activate), "activation1");
  EXPECT_EQ(name_with(&text::Node::mutable_softmax), "softmax1");
  EXPECT_EQ(name_with(&text::Node::mutable_log_softmax), "softmax1");
  EXPECT_EQ(name_with(&text::Node::mutable_arg_max), "arg_max1");
  EXPECT_EQ(name_with(&text::Node::mutable_scale_shift), "scale1");
  EXPECT_EQ(name_with(&text::Node::mutable_add), "add1");
  EXPECT_EQ(name_with(&text::Node::mutable_norm), "norm1");
  EXPECT_EQ(name_with(&text::Node::mutable_channel_norm), "norm1");
  EXPECT_EQ(name_with(&text::Node::mutable_max_pool), "pool1");
  EXPECT_EQ(name_with(&text::Node::mutable_global_max_pool), "global1");
  EXPECT_EQ(name_with(&text::Node::mutable_global_average_pool), "global1");
  EXPECT_EQ(name_with(&text::Node::mutable_multiply), "multiply1");
  EXPECT_EQ(name_with(&text::Node::mutable_concat), "concat1");
  EXPECT_EQ(name_with(&text::Node::mutable_crop), "crop1");
  EXPECT_EQ(name_with(&text::Node::mutable_upsample), "upsample1");
}

TEST(NodeNames, StandForValues) {
  NodeNames names("in");
  EXPECT_TRUE(names.add("a"));
  EXPECT_TRUE(names.add("b"));
  EXPECT_FALSE(names.add("a"));
  EXPECT_FALSE(names.add("in"));
  text::Node node;
  EXPECT_THAT(names.inputs_of(node).value(), ElementsAre(2));
  node.add_inputs("in");
  node.add_inputs("a");
  EXPECT_THAT(names.inputs_of(node).value(), ElementsAre(0, 1));
  node.add_inputs("c");
  EXPECT_THAT(names.inputs_of(node).error().message, HasSubstr("reads 'c', which is neither an earlier node nor"));
}

}  // namespace
}  // namespace znni
