#include "proto/convert/caffe/caffe_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/convert/base/text_format.hpp"

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

caffe::BlobShape shape_of(const std::vector<std::int64_t>& extents) {
  caffe::BlobShape shape;
  for (const std::int64_t extent : extents) shape.add_dim(extent);
  return shape;
}

caffe::NetParameter net_of(const std::string& text) {
  caffe::NetParameter net;
  EXPECT_TRUE(parse_text(text, net));
  return net;
}

// Returns the nodes of a network whose layers all become one, "name(inputs)outputs".
std::vector<std::string> nodes_of(const std::string& text, std::vector<std::string>* outputs = nullptr) {
  const caffe::NetParameter net = net_of(text);
  CaffeModel model(net, {}, "", 3);
  EXPECT_TRUE(model.add_input("in", shape_of({1, 1, 4, 4, 4})));
  for (const caffe::LayerParameter& layer : net.layer()) {
    const Result<CaffeLayer> entered = model.enter(layer);
    EXPECT_TRUE(entered) << entered.error().message;
    if (!entered->outputs.empty()) model.add("Relu", *entered, entered->inputs);
  }
  const onnx::ModelProto made = model.take();
  std::vector<std::string> nodes;
  for (const onnx::NodeProto& node : made.graph().node()) {
    nodes.push_back(node.name() + "(" + node.input(0) + ")" + node.output(0));
  }
  if (outputs == nullptr) return nodes;
  for (const auto& output : made.graph().output()) outputs->push_back(output.name());
  return nodes;
}

// The last layer that writes a blob has its name; those before it have others, which no blob has.
TEST(CaffeModel, LayersMayWriteWhatTheyRead) {
  std::vector<std::string> outputs;
  EXPECT_THAT(nodes_of("layer { name: 'a' bottom: 'in' top: 'x' } layer { name: 'b' bottom: 'x' top: 'x' }"
                       "layer { name: 'c' bottom: 'x' top: 'x' } layer { name: 'd' bottom: 'x' top: 'x/a' }",
                       &outputs),
              ElementsAre("a(in)x/a 2", "b(x/a 2)x/b", "c(x/b)x", "d(x)x/a"));
  EXPECT_THAT(outputs, ElementsAre("x/a"));
}

TEST(CaffeModel, TheInputMayBeWrittenOver) {
  std::vector<std::string> outputs;
  EXPECT_THAT(nodes_of("layer { name: 'a' bottom: 'in' top: 'in' }", &outputs), ElementsAre("a(in/input)in"));
  EXPECT_THAT(outputs, ElementsAre("in"));
}

TEST(CaffeModel, OutputsAreWhatNoLayerReads) {
  std::vector<std::string> outputs;
  nodes_of(
      "layer { name: 'a' bottom: 'in' top: 'x' } layer { name: 'b' bottom: 'in' top: 'y' }"
      "layer { name: 'c' bottom: 'x' top: 'z' } layer { name: 'd' bottom: 'in' top: 'w' }"
      "layer { name: 's' bottom: 'w' }",
      &outputs);
  EXPECT_THAT(outputs, ElementsAre("y", "z"));
}

TEST(CaffeModel, BlobsThatNobodyWrote) {
  const caffe::NetParameter net = net_of("layer { name: 'a' type: 'ReLU' bottom: 'in' top: 'x' }");
  CaffeModel model(net, {}, "", 3);
  EXPECT_THAT(model.enter(net.layer(0)).error().message,
              HasSubstr("layer 'a' (ReLU): no layer before writes 'in', which it reads"));
}

// A layer of many outputs becomes as many nodes of its name.
TEST(CaffeModel, NamesThatAreTooLong) {
  const caffe::NetParameter net = net_of("layer { top: 'x' name: '" + std::string(255, 'a') + "' }" +
                                         "layer { top: 'y' name: '" + std::string(256, 'a') + "' }");
  CaffeModel model(net, {}, "", 3);
  EXPECT_TRUE(model.enter(net.layer(0)));
  EXPECT_THAT(model.enter(net.layer(1)).error().message, HasSubstr("its name has 256 characters; up to 255 are right"));
}

TEST(CaffeModel, InputsHaveTheSameAxes) {
  CaffeModel model({}, {}, "", 3);
  EXPECT_TRUE(model.add_input("in", shape_of({1, 1, 4, 5, 6})));
  EXPECT_EQ(model.extents("in"), (CaffeExtents{4, 5, 6}));
  EXPECT_THAT(model.add_input("b", shape_of({1, 1, 4, 5})).error().message,
              HasSubstr("input 'b' has 4 axes, and another 5"));
  EXPECT_FALSE(model.add_input("", shape_of({1, 1, 4, 5, 6})));
}

TEST(CaffeModel, InputsHaveVoxels) {
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31}) {
    for (int axis = 0; axis < 4; ++axis) {
      caffe::BlobShape shape = shape_of({1, 2, 8, 9});
      shape.set_dim(axis, wrong);
      CaffeModel model({}, {}, "", 2);
      const Result<void> added = model.add_input("in", shape);
      ASSERT_FALSE(added) << wrong << " along axis " << axis;
      EXPECT_THAT(added.error().message, StartsWith("input 'in': its extents are "));
      EXPECT_THAT(added.error().message, HasSubstr("; each from 1 to 2147483647 is right"));
    }
  }
}

TEST(CaffeModel, NumbersOfTwoPrecisions) {
  const caffe::NetParameter net = net_of("layer { name: 'a' type: 'Bias' bottom: 'in' top: 'x' }");
  const caffe::NetParameter numbers =
      net_of("layer { name: 'a' blobs { shape { dim: 1 } data: [1] double_data: [1] } }");
  CaffeModel model(net, numbers, "folder/n.caffemodel", 3);
  ASSERT_TRUE(model.add_input("in", shape_of({1, 1, 4, 4, 4})));
  EXPECT_EQ(model.count(*model.enter(net.layer(0)), 0, 1).error().message,
            "layer 'a' (Bias): blob 0 in 'n.caffemodel' has numbers of both fields, data and double_data; those of one "
            "are right");
}

TEST(CaffeModel, Numbers) {
  const caffe::NetParameter net = net_of("layer { name: 'a' bottom: 'in' top: 'x' }");
  const caffe::NetParameter numbers = net_of(
      "layer { name: 'a' blobs { shape { dim: 2 dim: 1 } data: [1.5, 2] } blobs { double_data: [3] num: 1 "
      "channels: 1 height: 1 width: 1 } }");
  CaffeModel model(net, numbers, "folder/n.caffemodel", 3);
  ASSERT_TRUE(model.add_input("in", shape_of({1, 1, 4, 4, 4})));
  const Result<CaffeLayer> layer = model.enter(net.layer(0));
  ASSERT_TRUE(layer);
  EXPECT_EQ(*model.count(*layer, 0, 2), 2);
  EXPECT_EQ(*model.count(*layer, 1, 2), 1);
  EXPECT_THAT(model.count(*layer, 0, 1).error().message, HasSubstr("has 2 blobs of numbers in 'n.caffemodel'; 1 is"));
  EXPECT_EQ(model.extents_of_blob(*layer, 0), (OnnxNumbers{2, 1}));
  EXPECT_EQ(model.extents_of_blob(*layer, 1), (OnnxNumbers{1, 1, 1, 1}));
  EXPECT_EQ(model.numbers(*layer, 0), (std::vector<float>{1.5, 2}));
  EXPECT_EQ(model.numbers(*layer, 1), std::vector<float>{3});
  EXPECT_THAT(model.constant(*layer, 0, {3}).error().message, HasSubstr("has 2 numbers; 3 are right"));
  EXPECT_EQ(*model.constant(*layer, 0, {2}), "a.blob0");
  EXPECT_EQ(*model.constant(*layer, 1, {}), "a.blob1");
  const onnx::ModelProto made = model.take();
  EXPECT_EQ(made.graph().initializer(0).float_data(0), 1.5F);
  EXPECT_EQ(made.graph().initializer(1).float_data(0), 3.0F);
}

TEST(CaffeModel, RowsHaveNoSpatialAxes) {
  CaffeModel model({}, {}, "", 2);
  EXPECT_EQ(model.for_channels("x", 3), (OnnxNumbers{3, 1, 1}));
  model.note_row("x");
  EXPECT_EQ(model.for_channels("x", 3), OnnxNumbers{3});
}

}  // namespace
}  // namespace znni
