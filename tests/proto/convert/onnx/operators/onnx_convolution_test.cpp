#include "proto/convert/onnx/operators/onnx_convolution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

TEST(OnnxConvolution, ThreeAxesWithBiasAndDilation) {
  OnnxModel model(2);
  onnx::NodeProto& conv = model.conv("in", "out", 2, 3, {1, 2, 3});
  test::set_integers(conv, "dilations", {1, 2, 4});
  test::set_integers(conv, "kernel_shape", {1, 2, 3});
  test::set_integers(conv, "pads", {0, 0, 0, 0, 0, 0});
  test::set_integers(conv, "strides", {1, 1, 1});
  test::set_integer(conv, "group", 1);
  const LoadedNetwork loaded = model.output("out").read();
  ASSERT_EQ(loaded.network.nodes.size(), 1U);
  EXPECT_EQ(loaded.network.nodes[0], (Node{"/out", Convolution{3, {1, 2, 3}, {1, 2, 4}, {}}, {0}}));
  EXPECT_EQ(loaded.network.f_in, 2);
  EXPECT_EQ(loaded.network.spatial_rank, 3);
  std::vector<float> kernels(36);
  std::iota(kernels.begin(), kernels.end(), 0.0F);
  EXPECT_EQ(loaded.weights[0].kernels, kernels);
  EXPECT_EQ(loaded.weights[0].bias, (std::vector<float>{0, 1, 2}));
}

TEST(OnnxConvolution, Groups) {
  OnnxModel model(4);
  test::set_integer(model.conv("in", "out", 2, 6, {1, 1, 3}), "group", 2);
  const LoadedNetwork loaded = model.output("out").read();
  EXPECT_EQ(std::get<Convolution>(loaded.network.nodes[0].operation),
            (Convolution{6, {1, 1, 3}, Vec3::cube(1), {}, Vec3::cube(1), 2}));
  EXPECT_EQ(loaded.weights[0].kernels.size(), 36U);

  OnnxModel odd(4);
  test::set_integer(odd.conv("in", "out", 2, 5, {1, 1, 3}), "group", 2);
  EXPECT_THAT(odd.output("out").refusal(), HasSubstr("group = 2 does not divide the 5 channels of its output"));
}

TEST(OnnxConvolution, MissingLeadingAxesAreOne) {
  OnnxModel plane(1, 2);
  test::set_integers(plane.conv("in", "out", 1, 2, {3, 5}), "dilations", {2, 1});
  const LoadedNetwork two = plane.output("out").read();
  EXPECT_EQ(two.network.spatial_rank, 2);
  EXPECT_EQ(std::get<Convolution>(two.network.nodes[0].operation), (Convolution{2, {1, 3, 5}, {1, 2, 1}, {}}));

  OnnxModel line(1, 1);
  line.conv("in", "out", 1, 2, {5});
  const LoadedNetwork one = line.output("out").read();
  EXPECT_EQ(one.network.spatial_rank, 1);
  EXPECT_EQ(std::get<Convolution>(one.network.nodes[0].operation), (Convolution{2, {1, 1, 5}, Vec3::cube(1), {}}));
}

TEST(OnnxConvolution, NoBiasIsNoBias) {
  OnnxModel model;
  model.tensor("w", {1, 1, 1, 1, 2}, {0.5F, -0.25F});
  model.node("Conv", {"in", "w"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  EXPECT_TRUE(loaded.weights[0].bias.empty());
  EXPECT_EQ(loaded.weights[0].kernels, (std::vector<float>{0.5F, -0.25F}));
}

TEST(OnnxConvolution, AutoPadValidIsNoPadding) {
  OnnxModel model;
  test::set_text(model.conv("in", "out", 1, 1, {3, 3, 3}), "auto_pad", "VALID");
  EXPECT_EQ(model.output("out").refusal(), "");
}

// Returns the frame of a network of one convolution.
Border frame_with(void (*change)(onnx::NodeProto& conv)) {
  OnnxModel model(1);
  change(model.conv("in", "out", 1, 1, {2, 3, 4}));
  return model.output("out").read().network.frame;
}

TEST(OnnxConvolution, PadsAreAFrameOfZeros) {
  const Border begins_first = frame_with([](onnx::NodeProto& conv) {
    test::set_integers(conv, "pads", {0, 1, 2, 1, 0, 1});
  });
  EXPECT_EQ(begins_first, (Border{{0, 1, 2}, {1, 0, 1}}));
  const Border upper = frame_with([](onnx::NodeProto& conv) { test::set_text(conv, "auto_pad", "SAME_UPPER"); });
  EXPECT_EQ(upper, (Border{{0, 1, 1}, {1, 1, 2}}));
  const Border lower = frame_with([](onnx::NodeProto& conv) { test::set_text(conv, "auto_pad", "SAME_LOWER"); });
  EXPECT_EQ(lower, (Border{{1, 1, 2}, {0, 1, 1}}));
}

TEST(OnnxConvolution, SameCountsDilation) {
  const Border frame = frame_with([](onnx::NodeProto& conv) {
    test::set_text(conv, "auto_pad", "SAME_UPPER");
    test::set_integers(conv, "dilations", {1, 3, 2});
  });
  EXPECT_EQ(frame, (Border{{0, 3, 3}, {1, 3, 3}}));
}

TEST(OnnxConvolution, PaddedBranchesMeet) {
  OnnxModel model(2);
  test::set_integers(model.conv("in", "a", 2, 2, {3, 3, 3}), "pads", {1, 1, 1, 1, 1, 1});
  model.node("Add", {"in", "a"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(Crop{Vec3::cube(1), Vec3::cube(1)}));
  EXPECT_EQ(lost_extent(loaded.network), Vec3::cube(1));
}

TEST(OnnxConvolution, AStrideOfTheOutputIsRepeated) {
  OnnxModel model(1);
  test::set_integers(model.conv("in", "a", 1, 1, {3, 3, 3}), "pads", {1, 1, 1, 1, 1, 1});
  onnx::NodeProto& pool = model.node("MaxPool", {"a"}, {"out"});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  test::set_integers(pool, "strides", {2, 2, 2});
  const Network network = model.output("out").read().network;
  EXPECT_EQ(network.output_stride, Vec3::cube(2));
  EXPECT_EQ(network.nodes.back().operation, Operation(Upsample{}));
}

// One change to a valid convolution, and a text that the refusal must hold.
struct Refused {
  std::string name;
  void (*change)(OnnxModel& model, onnx::NodeProto& conv);
  std::string says;
};

class OnnxConvolutionRefuses : public testing::TestWithParam<Refused> {};

TEST_P(OnnxConvolutionRefuses, InWords) {
  OnnxModel model(2);
  onnx::NodeProto& conv = model.conv("in", "out", 2, 2, {3, 3, 3});
  GetParam().change(model, conv);
  const std::string refusal = model.output("out").refusal();
  EXPECT_THAT(refusal, HasSubstr("node '/out' (Conv): "));
  EXPECT_THAT(refusal, HasSubstr(GetParam().says));
  EXPECT_EQ(refusal.find('\n'), std::string::npos);
}

const Refused refused[] = {
    {"NegativePads",
     [](OnnxModel&, onnx::NodeProto& c) {
       test::set_integers(c, "pads", {0, 0, 0, 0, 0, -1});
     },
     "unsupported: node '/out' (Conv): pads of -1 are not supported; only 0 to 2^20"},
    {"HugePads",
     [](OnnxModel&, onnx::NodeProto& c) {
       test::set_integers(c, "pads", {0, 0, 1LL << 40, 0, 0, 0});
     },
     "pads of 1099511627776 are not supported"},
    {"FewPads",
     [](OnnxModel&, onnx::NodeProto& c) {
       test::set_integers(c, "pads", {1, 1, 1});
     },
     "has 3 pads; 6 are right"},
    {"AutoPad", [](OnnxModel&, onnx::NodeProto& c) { test::set_text(c, "auto_pad", "SAME"); },
     "auto_pad = 'SAME' is unknown; NOTSET, SAME_UPPER, SAME_LOWER and VALID are known"},
    {"Strides",
     [](OnnxModel&, onnx::NodeProto& c) {
       test::set_integers(c, "strides", {1, 0, 2});
     },
     "'strides' holds 0; 1 to 2^20 is right"},
    {"NoGroup", [](OnnxModel&, onnx::NodeProto& c) { test::set_integer(c, "group", 0); },
     "group = 0; 1 to 2^20 is right"},
    {"ImagesOfGroups", [](OnnxModel&, onnx::NodeProto& c) { test::set_integer(c, "group", 2); },
     "weights 'out.w' are for 4 channels; the input has 2"},
    {"KernelShape",
     [](OnnxModel&, onnx::NodeProto& c) {
       test::set_integers(c, "kernel_shape", {3, 3, 5});
     },
     "kernel_shape is 3x3x5; the weights have 3x3x3"},
    {"KernelAxes",
     [](OnnxModel&, onnx::NodeProto& c) {
       test::set_integers(c, "kernel_shape", {3, 3});
     },
     "'kernel_shape' has 2 values; the net has 3 spatial axes"},
    {"ZeroDilation",
     [](OnnxModel&, onnx::NodeProto& c) {
       test::set_integers(c, "dilations", {0, 1, 1});
     },
     "'dilations' holds 0; 1 to 2^20 is right"},
    {"HugeDilation",
     [](OnnxModel&, onnx::NodeProto& c) {
       test::set_integers(c, "dilations", {1, 1, 1LL << 62});
     },
     "'dilations' holds 4611686018427387904"},
    {"Channels",
     [](OnnxModel& m, onnx::NodeProto&) { m.proto.mutable_graph()->mutable_initializer(0)->set_dims(1, 3); },
     "weights 'out.w' are for 3 channels; the input has 2"},
    {"Axes", [](OnnxModel& m, onnx::NodeProto&) { m.proto.mutable_graph()->mutable_initializer(0)->add_dims(1); },
     "weights 'out.w' have 6 axes; 5 are right"},
    {"Negative",
     [](OnnxModel& m, onnx::NodeProto&) { m.proto.mutable_graph()->mutable_initializer(0)->set_dims(2, -3); },
     "tensor 'out.w' has an extent of -3"},
    {"Zero", [](OnnxModel& m, onnx::NodeProto&) { m.proto.mutable_graph()->mutable_initializer(0)->set_dims(2, 0); },
     "weights 'out.w' have an extent of 0"},
    {"Huge",
     [](OnnxModel& m, onnx::NodeProto&) { m.proto.mutable_graph()->mutable_initializer(0)->set_dims(0, 1LL << 61); },
     "tensor 'out.w': has 432 bytes; its extents ask for 9223372036854775807"},
    {"Bias", [](OnnxModel& m, onnx::NodeProto& c) { m.tensor("long", {3}), c.set_input(2, "long"); },
     "input 'long' has 3 elements; one per channel, 2, is right"},
    {"ComputedWeights", [](OnnxModel&, onnx::NodeProto& c) { c.set_input(1, "in"); }, "its weights are computed"},
    {"ComputedBias", [](OnnxModel&, onnx::NodeProto& c) { c.set_input(2, "in"); }, "input 'in' is computed"},
    {"ConstantInput", [](OnnxModel&, onnx::NodeProto& c) { c.set_input(0, "out.b"); },
     "input 'out.b' is a constant, which is not supported here"},
    {"Attribute", [](OnnxModel&, onnx::NodeProto& c) { test::set_integer(c, "output_padding", 1); },
     "attribute 'output_padding' is not supported; supported are: auto_pad, dilations"},
    {"NoWeights", [](OnnxModel&, onnx::NodeProto& c) { c.mutable_input()->DeleteSubrange(1, 2); },
     "has 1 inputs; 2 or more are right"},
};
INSTANTIATE_TEST_SUITE_P(Conv, OnnxConvolutionRefuses, testing::ValuesIn(refused),
                         [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace znni
