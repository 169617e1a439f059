#include "proto/convert/onnx/operators/onnx_channels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::Integers;
using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

const Convolution* conv_at(const LoadedNetwork& loaded, std::size_t node) {
  return std::get_if<Convolution>(&loaded.network.nodes[node].operation);
}

// Returns a Slice of 4 channels, [start, end).
OnnxModel sliced(std::int64_t start, std::int64_t end) {
  OnnxModel model(4);
  model.integers("starts", {start});
  model.integers("ends", {end});
  model.integers("axes", {1});
  model.node("Slice", {"in", "starts", "ends", "axes"}, {"out"});
  return model.output("out");
}

TEST(OnnxChannels, ASliceOfChannelsCopiesThem) {
  for (const auto& [start, end] : {std::pair{1, 3}, std::pair{-3, -1}}) {
    const LoadedNetwork loaded = sliced(start, end).read();
    ASSERT_EQ(loaded.network.nodes.size(), 1U);
    ASSERT_NE(conv_at(loaded, 0), nullptr);
    EXPECT_EQ(*conv_at(loaded, 0), (Convolution{2, Vec3::cube(1), Vec3::cube(1), {}}));
    EXPECT_THAT(loaded.weights[0].kernels, ElementsAre(0, 1, 0, 0, 0, 0, 1, 0));
  }
  EXPECT_EQ(channels_of(sliced(3, 1 << 20).read().network).back(), 1);
  EXPECT_THAT(sliced(2, 2).refusal(), HasSubstr("keeps [2, 2) of axis 1: none of 4 channels"));
  EXPECT_THAT(sliced(3, 1).refusal(), HasSubstr("none of 4 channels"));
}

OnnxModel split_into(const std::vector<std::string>& outputs, const Integers& sizes, std::int64_t opset = 13) {
  OnnxModel model(5, 3, opset);
  onnx::NodeProto* node = nullptr;
  if (!sizes.empty() && opset >= 13) {
    model.integers("sizes", sizes);
    node = &model.node("Split", {"in", "sizes"}, outputs);
  } else {
    node = &model.node("Split", {"in"}, outputs);
    if (!sizes.empty()) test::set_integers(*node, "split", sizes);
  }
  test::set_integer(*node, "axis", 1);
  for (const std::string& output : outputs) model.output(output);
  return model;
}

TEST(OnnxChannels, ASplitIsACopyForEachOutput) {
  for (const std::int64_t opset : {7, 11, 13, 18}) {
    const LoadedNetwork loaded = split_into({"a", "b"}, {2, 3}, opset).read();
    EXPECT_EQ(loaded.network.outputs, (std::vector<NamedTensor>{{"a", 2}, {"b", 3}})) << opset;
    EXPECT_THAT(loaded.weights[0].kernels, ElementsAre(1, 0, 0, 0, 0, 0, 1, 0, 0, 0));
    EXPECT_THAT(loaded.weights[1].kernels, ElementsAre(0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1));
  }
  EXPECT_EQ(split_into({"a", "b"}, {}).read().network.outputs, (std::vector<NamedTensor>{{"a", 3}, {"b", 2}}));
}

TEST(OnnxChannels, SplitsThatAreRefused) {
  EXPECT_THAT(split_into({"a", "b"}, {2, 2}).refusal(), HasSubstr("has 2 sizes for 2 outputs, and 5 channels"));
  EXPECT_THAT(split_into({"a", "b"}, {5}).refusal(), HasSubstr("has 1 sizes for 2 outputs"));
  EXPECT_THAT(split_into({"a", "b"}, {6, -1}).refusal(), HasSubstr("one above 0 for each output is right"));
  EXPECT_THAT(split_into({"a", "b", "c", "d", "e", "f"}, {}).refusal(), HasSubstr("has more outputs than there are"));
  OnnxModel along_z = split_into({"a", "b"}, {2, 3});
  along_z.proto.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_i(2);
  EXPECT_THAT(along_z.refusal(), HasSubstr("splits an axis whose extent the file leaves open"));
}

OnnxModel padded(const Integers& pads, std::int64_t f = 2) {
  OnnxModel model(f);
  model.integers("pads", pads);
  model.node("Relu", {"in"}, {"low"});
  model.node("Pad", {"low", "pads"}, {"wide"});
  model.conv("wide", "out", f + pads[1] + pads[6], 2, {3, 3, 3});
  return model.output("out");
}

TEST(OnnxChannels, PadPutsZerosAroundSpaceByADepthwiseCopy) {
  const LoadedNetwork loaded = padded({0, 0, 1, 2, 0, 0, 0, 1, 0, 2}).read();
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  ASSERT_NE(conv_at(loaded, 1), nullptr);
  EXPECT_EQ(conv_at(loaded, 1)->groups, 2);
  EXPECT_THAT(loaded.weights[1].kernels, ElementsAre(1, 1));
  EXPECT_EQ(loaded.network.frame, (Border{{1, 2, 0}, {1, 0, 2}}));
  EXPECT_EQ(lost_extent(loaded.network), (Vec3{1, 1, 1}));
}

TEST(OnnxChannels, PadPutsZerosAroundChannels) {
  const LoadedNetwork loaded = padded({0, 1, 0, 0, 0, 0, 2, 0, 0, 0}).read();
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  EXPECT_EQ(conv_at(loaded, 1)->f_out, 5);
  EXPECT_THAT(loaded.weights[1].kernels, ElementsAre(0, 0, 1, 0, 0, 1, 0, 0, 0, 0));
}

TEST(OnnxChannels, PadMayCropAtOneEndAndPadAtTheOther) {
  const LoadedNetwork loaded = padded({0, 0, -1, 0, 0, 0, 0, 1, 0, 0}).read();
  const std::vector<Node>& nodes = loaded.network.nodes;
  EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(),
                          [](const Node& node) { return std::holds_alternative<Crop>(node.operation); }));
  EXPECT_EQ(loaded.network.frame, (Border{{}, {1, 0, 0}}));
  EXPECT_EQ(lost_extent(loaded.network), (Vec3{3, 3, 3}));
}

// Weights of a copy are bounded by what is plausible for the file.
TEST(OnnxChannels, ACopyOfVeryManyChannelsIsRefused) {
  EXPECT_THAT(padded({0, 1 << 20, 0, 0, 0, 0, 0, 0, 0, 0}, 1000).refusal(), HasSubstr("more than is plausible"));
}

TEST(OnnxChannels, PadByOtherThanZerosIsRefused) {
  const auto refusal = [](const auto& change) {
    OnnxModel model(1);
    model.integers("pads", {0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
    change(model, model.node("Pad", {"in", "pads"}, {"wide"}));
    model.conv("wide", "out", 1, 1, {3, 1, 1});
    return model.output("out").refusal();
  };
  EXPECT_THAT(refusal([](OnnxModel&, auto& node) { test::set_text(node, "mode", "wrap"); }),
              HasSubstr("mode = 'wrap' is not supported; only constant, with zeros, and"));
  EXPECT_THAT(refusal([](OnnxModel& model, auto& node) {
                model.tensor("one", {1}, {1.0F});
                node.add_input("one");
              }),
              HasSubstr("pads by a constant that is not 0"));
  EXPECT_THAT(refusal([](OnnxModel&, auto& node) { node.add_input("in"); }), HasSubstr("pads by a computed number"));
  EXPECT_EQ(refusal([](OnnxModel& model, auto& node) {
              model.tensor("none", {}, {0.0F});
              node.add_input("none");
            }),
            "");
}

}  // namespace
}  // namespace znni
