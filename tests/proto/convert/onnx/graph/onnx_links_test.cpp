#include "proto/convert/onnx/graph/onnx_links.hpp"

#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

TEST(OnnxLinks, WritersAndReaders) {
  test::OnnxModel model;
  model.tensor("c", {1});
  model.node("Relu", {"in"}, {"a"});
  model.node("Mul", {"a", "c"}, {"b"});
  model.node("Tanh", {"b"}, {"d"});
  model.node("Add", {"b", "d"}, {"e"});
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("e").proto);
  ASSERT_TRUE(graph);
  const OnnxLinks links(*graph);
  const auto& nodes = graph->nodes;
  EXPECT_EQ(links.writer(*nodes[1], 0), nodes[0]);
  EXPECT_EQ(links.writer(*nodes[1], 1), nullptr) << "a constant";
  EXPECT_EQ(links.writer(*nodes[0], 0), nullptr) << "the input";
  EXPECT_EQ(links.writer(*nodes[0], 1), nullptr) << "no such input";
  EXPECT_EQ(links.only_reader(*nodes[0]), nodes[1]);
  EXPECT_EQ(links.only_reader(*nodes[1]), nullptr) << "two readers";
  EXPECT_EQ(links.only_reader(*nodes[3]), nullptr) << "none";
  EXPECT_TRUE(links.reads_constant(*nodes[1]));
  EXPECT_FALSE(links.reads_constant(*nodes[3]));
}

}  // namespace
}  // namespace znni
