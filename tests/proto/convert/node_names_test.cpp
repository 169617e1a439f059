#include "proto/convert/node_names.hpp"

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
