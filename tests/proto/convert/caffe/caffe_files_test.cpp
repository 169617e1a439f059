#include "proto/convert/caffe/caffe_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t much = std::int64_t{1} << 40;

std::vector<std::string> layers_of(const std::string& text) {
  const Result<caffe::NetParameter> net = parse_caffe_net(text);
  EXPECT_TRUE(net) << net.error().message;
  std::vector<std::string> names;
  for (const caffe::LayerParameter& layer : net->layer()) names.push_back(layer.name());
  return names;
}

std::string refusal_of(const std::string& text) {
  const Result<caffe::NetParameter> net = parse_caffe_net(text);
  return net ? "" : net.error().message;
}

TEST(CaffeFiles, LayersOfTrainingAreLeftOut) {
  const std::string text =
      "layer { name: 'a' include { phase: TRAIN } }\n"
      "layer { name: 'b' include { phase: TRAIN } include { phase: TEST } }\n"
      "layer { name: 'c' exclude { phase: TEST } }\n"
      "layer { name: 'd' exclude { phase: TRAIN } }\n"
      "layer { name: 'e' include { stage: 'deploy' } }\n"
      "layer { name: 'f' include { not_stage: 'deploy' } }\n"
      "layer { name: 'g' include { min_level: 1 } }\n"
      "layer { name: 'h' exclude { min_level: 1 } }\n"
      "layer { name: 'i' include { max_level: -1 } }\n"
      "layer { name: 'j' }\n";
  EXPECT_EQ(layers_of(text), (std::vector<std::string>{"b", "d", "f", "h", "j"}));
  EXPECT_EQ(layers_of("state { stage: 'deploy' level: 1 } " + text),
            (std::vector<std::string>{"b", "d", "e", "g", "j"}));
}

TEST(CaffeFiles, WhatOnlyTrainingReadsIsSkipped) {
  const std::string text =
      "force_backward: true\n"
      "layer { name: 'a' type: 'Convolution' param { lr_mult: 1 decay_mult: 0 } propagate_down: false\n"
      "  loss_weight: 1 transform_param { scale: 2 } lrn_param { local_size: 5 }\n"
      "  convolution_param { num_output: 3 weight_filler { type: 'msra' std: 0.01 } engine: CAFFE kernel_size: [1, 3] }"
      "}\n";
  const Result<caffe::NetParameter> net = parse_caffe_net(text);
  ASSERT_TRUE(net) << net.error().message;
  EXPECT_EQ(net->layer(0).convolution_param().num_output(), 3U);
  EXPECT_EQ(net->layer(0).convolution_param().kernel_size_size(), 2);
  EXPECT_THAT(refusal_of("layer {}\nlayer { convolution_param { fused: 1 } }"),
              StartsWith("line 2: znni.caffe.ConvolutionParameter has no field 'fused'; it has: num_output"));
}

// A field of a layer that is read may change what it computes; one of another layer is of its type.
TEST(CaffeFiles, UnknownFieldsOfLayers) {
  const auto refusal = [](const std::string& type, const std::string& field, const std::string& rule = "") {
    return refusal_of("layer { type: 'Python' own_param {} }\nlayer { " + field + " {} type: '" + type + "' " + rule +
                      " }\nlayer { type: 'Python' }");
  };
  EXPECT_THAT(refusal("ReLU", "clipped_param"),
              StartsWith("line 2: znni.caffe.LayerParameter has no field 'clipped_param'; it has: name, type"));
  EXPECT_THAT(refusal("Input", "mean_param"), StartsWith("line 2: "));
  EXPECT_EQ(refusal("ReLU", "clipped_param", "include { phase: TRAIN }"), "");
  EXPECT_EQ(refusal("Clipped", "clipped_param"), "");
  EXPECT_EQ(refusal("ReLU", "param"), "");
  EXPECT_EQ(refusal("Dropout", "dropout_param { dropout_ratio: 0.5 } param"), "");
  EXPECT_EQ(refusal("TanH", "tanh_param { engine: CAFFE } param"), "");
  EXPECT_THAT(refusal("Dropout", "dropout_param { sample_weights_test: true } param"), StartsWith("line 2: "));
  EXPECT_EQ(refusal_of("layer: [{ type: 'Own' own {} }, { type: 'ReLU' param {} }]"), "");
  EXPECT_THAT(refusal_of("layer: [{ type: 'Own' own {} }, { type: 'ReLU' own {} }]"), StartsWith("line 1: "));
}

TEST(CaffeFiles, TextThatIsWrong) {
  EXPECT_THAT(refusal_of("layer { name: 'a' "), StartsWith("line 1: "));
  EXPECT_THAT(refusal_of("layer { convolution_param { pad: -1 } }"), StartsWith("line 1: "));
  EXPECT_EQ(refusal_of("name: 'net'"), "has no layers");
  EXPECT_THAT(refusal_of("layers { name: 'a' type: CONVOLUTION blobs_lr: 1 }"),
              HasSubstr("format before 2015 ('layers'): upgrade it by Caffe's own upgrade_net_proto_text"));
}

TEST(CaffeFiles, NumbersOfAFile) {
  caffe::NetParameter net;
  for (int i = 0; i < 100; ++i) net.add_layer()->add_blobs()->add_data(static_cast<float>(i));
  const std::string bytes = net.SerializeAsString();
  const test::TemporaryDirectory folder;
  const std::string whole = folder.write("a.caffemodel", bytes);
  const Result<caffe::NetParameter> read = read_caffe_numbers(whole, much);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->SerializeAsString(), bytes);
  const std::string cut = folder.write("b.caffemodel", bytes.substr(0, bytes.size() - 1));
  EXPECT_EQ(read_caffe_numbers(cut, much).error().code, ErrorCode::corrupt_file);
  EXPECT_THAT(read_caffe_numbers(cut, much).error().message, StartsWith(cut + ": no file of Caffe's numbers, or cut"));
  EXPECT_EQ(read_caffe_numbers(folder.path() / "none", much).error().code, ErrorCode::not_found);
  net.add_layers();
  const std::string old = folder.write("c.caffemodel", net.SerializeAsString());
  EXPECT_THAT(read_caffe_numbers(old, much).error().message, HasSubstr("upgrade_net_proto_binary"));
}

TEST(CaffeFiles, NumbersThatTakeTooMuchAreNotRead) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("a.caffemodel", std::string((1 << 20) + 401, 'x'));
  EXPECT_EQ(read_caffe_numbers(path, 100).error().code, ErrorCode::over_budget);
  EXPECT_EQ(read_caffe_numbers(path, 101).error().code, ErrorCode::corrupt_file);
}

TEST(CaffeFiles, NameOfTheNumbers) {
  EXPECT_EQ(caffe_numbers_beside("/a/net.prototxt"), "/a/net.caffemodel");
  EXPECT_EQ(caffe_numbers_beside("net"), "net.caffemodel");
}

}  // namespace
}  // namespace znni
