#include "proto/convert/onnx/operators/onnx_tile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::Integers;
using test::OnnxModel;
using testing::HasSubstr;

// Returns a convolution, then the node with these numbers, then another convolution.
OnnxModel model_of(std::string_view operation, const Integers& numbers, std::int64_t f, std::int64_t f_behind) {
  OnnxModel model(f);
  model.conv("in", "low", f, f, {1, 1, 3});
  model.integers("numbers", numbers);
  model.node(operation, {"low", "numbers"}, {"many"});
  model.conv("many", "out", f_behind, 2, {1, 1, 1});
  return model.output("out");
}

TEST(OnnxTile, RepeatsChannels) {
  const LoadedNetwork loaded = model_of("Tile", {1, 3, 1, 1, 1}, 2, 6).read();
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  EXPECT_EQ(loaded.network.nodes[1], (Node{"/many", Concat{}, {1, 1, 1}}));
  EXPECT_EQ(channels_of(loaded.network), (std::vector<std::int64_t>{2, 2, 6, 2}));
}

TEST(OnnxTile, OnceIsNothing) { EXPECT_EQ(model_of("Tile", {1, 1, 1, 1, 1}, 2, 2).read().network.nodes.size(), 2U); }

TEST(OnnxTile, Refusals) {
  EXPECT_THAT(model_of("Tile", {1, 3, 1, 1}, 2, 6).refusal(), HasSubstr("has 4 repeats; 5 are right"));
  EXPECT_THAT(model_of("Tile", {1, 1, 2, 1, 1}, 2, 2).refusal(),
              HasSubstr("repeats axis 2 2 times; only channels, axis 1, can be repeated"));
  EXPECT_THAT(model_of("Tile", {1, 0, 1, 1, 1}, 2, 2).refusal(), HasSubstr("repeats channels 0 times; 1 to 256"));
  EXPECT_THAT(model_of("Tile", {1, 1 << 20, 1, 1, 1}, 2, 2).refusal(), HasSubstr("repeats channels 1048576 times"));
  OnnxModel computed;
  computed.node("Tile", {"in", "in"}, {"out"});
  EXPECT_THAT(computed.output("out").refusal(), HasSubstr("is computed of something else than constants and shapes"));
}

TEST(OnnxExpand, OneChannelBecomesSeveral) {
  const LoadedNetwork loaded = model_of("Expand", {1, 4, 1, 1, 1}, 1, 4).read();
  EXPECT_EQ(loaded.network.nodes[1], (Node{"/many", Concat{}, {1, 1, 1, 1}}));
  EXPECT_EQ(model_of("Expand", {4, 1, 1, 1}, 1, 4).read().network.nodes[1], loaded.network.nodes[1]);
}

TEST(OnnxExpand, ToTheSameExtentsIsNothing) {
  EXPECT_EQ(model_of("Expand", {1, 1, 1, 1, 1}, 2, 2).read().network.nodes.size(), 2U);
  EXPECT_EQ(model_of("Expand", {2, 1, 1, 1}, 2, 2).read().network.nodes.size(), 2U);
  OnnxModel shaped(2);
  shaped.node("Shape", {"in"}, {"shape"});
  shaped.node("Relu", {"in"}, {"low"});
  shaped.node("Expand", {"low", "shape"}, {"out"});
  EXPECT_EQ(shaped.output("out").read().network.nodes.size(), 1U);
}

TEST(OnnxExpand, Refusals) {
  EXPECT_THAT(model_of("Expand", {1, 4, 1, 1, 1}, 2, 4).refusal(),
              HasSubstr("axis 1 to 4 is not supported; only one channel can be made several"));
  EXPECT_THAT(model_of("Expand", {1, 2, 8, 1, 1}, 2, 2).refusal(), HasSubstr("axis 2 to 8 is not supported"));
  EXPECT_THAT(model_of("Expand", {1, 1, 2, 1, 1, 1}, 2, 2).refusal(),
              HasSubstr("to 6 axes is not supported; only to 5"));
}

}  // namespace
}  // namespace znni
