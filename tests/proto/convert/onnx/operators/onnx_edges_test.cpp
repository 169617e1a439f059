#include "proto/convert/onnx/operators/onnx_edges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

// Returns a Pad by the voxels at the border, in front of a convolution of kernel 3.
OnnxModel padded(const std::vector<std::int64_t>& pads, const std::string& mode = "edge") {
  OnnxModel model(2);
  model.conv("in", "first", 2, 2, {3, 3, 3});
  model.integers("pads", pads);
  test::set_text(model.node("Pad", {"first", "pads"}, {"wide"}), "mode", mode);
  model.conv("wide", "out", 2, 1, {3, 3, 3});
  return std::move(model.output("out"));
}

TEST(OnnxEdges, PadRepeatsTheVoxelsAtTheBorder) {
  const Network network = padded({0, 0, 1, 0, 2, 0, 0, 1, 0, 1}).read().network;
  EXPECT_EQ(network.nodes[0].outside_kind, OutsideKind::edge);
  EXPECT_EQ(network.nodes[0].outside, (Border{{2, 0, 3}, {2, 0, 3}}));
  EXPECT_EQ(network.nodes[1].operation, Operation(Crop{{1, 0, 1}, {1, 0, 2}}));
  EXPECT_EQ(lost_extent(network), (Vec3{3, 5, 2}));
}

TEST(OnnxEdges, PadMayCropAtOneEndAndRepeatAtTheOther) {
  const Network network = padded({0, 0, -1, 0, 0, 0, 0, 1, 0, 0}).read().network;
  EXPECT_EQ(lost_extent(network), (Vec3{5, 5, 5}));
}

TEST(OnnxEdges, OfChannelsThereAreNone) {
  EXPECT_THAT(padded({0, 1, 1, 0, 0, 0, 0, 0, 0, 0}).refusal(), HasSubstr("mode = 'edge' is not supported"));
}

TEST(OnnxEdges, AConvolutionTakesInThePadThatReflects) {
  const Network network = padded({0, 0, 1, 1, 0, 0, 0, 1, 1, 1}, "reflect").read().network;
  ASSERT_EQ(network.nodes.size(), 2U);
  EXPECT_EQ(network.nodes[0].outside_kind, OutsideKind::reflect);
  EXPECT_EQ(network.nodes[0].outside, (Border{{1, 1, 0}, {1, 1, 1}}));
  EXPECT_EQ(lost_extent(network), (Vec3{3, 3, 4}));
  EXPECT_EQ(network.min_volume, (Vec3{4, 4, 4}));  // the first convolution leaves two voxels
}

TEST(OnnxEdges, WiderPadsThatReflectReadWhatTheyCopyThemselves) {
  const Network network = padded({0, 0, 1, 0, 2, 0, 0, 0, 0, 1}, "reflect").read().network;
  EXPECT_EQ(network.nodes[0].outside_kind, OutsideKind::reflect);
  EXPECT_EQ(network.nodes[1].operation, Operation(Crop{{0, 0, 2}, {2, 0, 4}}));
  EXPECT_EQ(network.nodes[0].outside, (Border{{1, 0, 4}, {2, 0, 5}}));
  EXPECT_EQ(lost_extent(network), (Vec3{4, 5, 2}));
  EXPECT_EQ(network.min_volume, (Vec3{4, 1, 5}));
}

TEST(OnnxEdges, OfChannelsNothingIsReflected) {
  EXPECT_THAT(padded({0, 1, 1, 0, 0, 0, 0, 0, 0, 0}, "reflect").refusal(),
              HasSubstr("mode = 'reflect' is not supported"));
}

// Returns a pooling to half the extent less a voxel, nearest neighbours of that, and a Resize to the extent of the
// input.
OnnxModel grown(std::int64_t more) {
  OnnxModel model(1);
  onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"low"});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  test::set_integers(pool, "strides", {2, 2, 2});
  model.tensor("scales", {5}, {1, 1, 2, 2, 2});
  test::set_text(model.node("Resize", {"low", "", "scales"}, {"up"}), "coordinate_transformation_mode", "asymmetric");
  test::set_text(*model.proto.mutable_graph()->mutable_node(1), "nearest_mode", "floor");
  model.integers("begin", {more});
  model.integers("end", {(std::int64_t{1} << 31) - 1});
  model.integers("axis", {4});
  model.node("Slice", {"up", "begin", "end", "axis"}, {"less"});
  model.node("Shape", {"in"}, {"sizes"});
  onnx::NodeProto& resize = model.node("Resize", {"less", "", "", "sizes"}, {"out"});
  test::set_text(resize, "coordinate_transformation_mode", "asymmetric");
  test::set_text(resize, "nearest_mode", "floor");
  return std::move(model.output("out"));
}

TEST(OnnxEdges, ResizeByOneVoxelRepeatsTheFirst) {
  const Network network = grown(1).read().network;
  EXPECT_EQ(lost_extent(network), Vec3::cube(1));
  EXPECT_TRUE(std::any_of(network.nodes.begin(), network.nodes.end(),
                          [](const Node& node) { return node.outside_kind == OutsideKind::edge; }));
  EXPECT_EQ(network.nodes.back().operation, Operation(Crop{{}, {0, 0, 1}}));
}

TEST(OnnxEdges, ResizeByMoreIsRefused) {
  EXPECT_THAT(grown(2).refusal(), HasSubstr("no multiple of the extent along axis 4"));
}

TEST(OnnxEdges, ResizeByOneVoxelIsOfNearestNeighbours) {
  OnnxModel model = grown(1);
  onnx::NodeProto& resize = *model.proto.mutable_graph()->mutable_node(4);
  resize.clear_attribute();
  test::set_text(resize, "mode", "linear");
  EXPECT_THAT(model.refusal(), HasSubstr("grows by one voxel, which only nearest neighbours at"));
}

}  // namespace
}  // namespace znni
