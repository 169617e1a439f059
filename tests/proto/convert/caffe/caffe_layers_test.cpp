#include "proto/convert/caffe/caffe_layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracle/oracle.hpp"
#include "tests/proto/convert/caffe/caffe_net.hpp"
#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::CaffeNet;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::int64_t> input = {1, 2, 8, 8, 8};

// Returns what a chain of activations, scales and shifts makes of a voxel of a channel.
double value_of(const LoadedNetwork& loaded, std::size_t channel, double x) {
  for (std::size_t i = 0; i < loaded.network.nodes.size(); ++i) {
    const NodeWeights& weights = loaded.weights[i];
    if (const auto* activate = std::get_if<Activate>(&loaded.network.nodes[i].operation)) {
      x = oracle::apply_exactly(activate->activation, x);
    } else if (!weights.scale.empty()) {
      x = x * static_cast<double>(weights.scale[channel]) + static_cast<double>(weights.shift[channel]);
    } else {
      ADD_FAILURE() << "another operation";
    }
  }
  return x;
}

// Returns the value of a net of one layer, as "out" of "in".
double layer_of(double x, std::string_view type, std::string_view parameters = "") {
  CaffeNet net(input);
  return value_of(net.layer(type, "l", {"in"}, {"out"}, parameters).read(), 0, x);
}

TEST(CaffeLayers, Activations) {
  for (const double x : {-1.5, 0.25}) {
    EXPECT_EQ(layer_of(x, "ReLU"), std::max(0.0, x));
    EXPECT_EQ(layer_of(x, "ReLU", "relu_param { negative_slope: 0.125 }"), x < 0 ? 0.125 * x : x);
    EXPECT_NEAR(layer_of(x, "ELU"), x < 0 ? std::expm1(x) : x, 1e-9);
    EXPECT_NEAR(layer_of(x, "ELU", "elu_param { alpha: 0.5 }"), x < 0 ? 0.5 * std::expm1(x) : x, 1e-9);
    EXPECT_NEAR(layer_of(x, "Sigmoid"), 1 / (1 + std::exp(-x)), 1e-9);
    EXPECT_NEAR(layer_of(x, "TanH"), std::tanh(x), 1e-9);
    EXPECT_EQ(layer_of(x, "Power", "power_param { scale: 3 shift: -2 }"), 3 * x - 2);
  }
}

// Mean and variance are sums: the third blob is their weight.
TEST(CaffeLayers, BatchNormAndScale) {
  CaffeNet net(input);
  net.layer("BatchNorm", "bn", {"in"}, {"in"}, "batch_norm_param { use_global_stats: true eps: 0.5 }");
  net.layer("Scale", "s", {"in"}, {"in"}, "scale_param { bias_term: true }");
  net.blob("bn", {2}, {8, -4}).blob("bn", {2}, {14, 3}).blob("bn", {1}, {4});
  net.blob("s", {2}, {3, 5}).blob("s", {2}, {-1, 7});
  const LoadedNetwork loaded = net.read();
  EXPECT_NEAR(value_of(loaded, 0, 1.25), (1.25 - 2) / std::sqrt(3.5 + 0.5) * 3 - 1, 1e-5);
  EXPECT_NEAR(value_of(loaded, 1, 1.25), (1.25 + 1) / std::sqrt(0.75 + 0.5) * 5 + 7, 1e-5);
}

TEST(CaffeLayers, BatchNormOfNothingSeen) {
  CaffeNet net(input);
  net.layer("BatchNorm", "bn", {"in"}, {"out"});
  net.blob("bn", {2}, {8, -4}).blob("bn", {2}, {14, 3}).blob("bn", {1}, {0});
  EXPECT_NEAR(value_of(net.read(), 0, 1.25), 1.25 / std::sqrt(1e-5), 1e-2);
}

// Numbers are of one layer: copies for many would take more memory than the file says.
TEST(CaffeLayers, LayersOfOneName) {
  CaffeNet net(input);
  net.layer("BatchNorm", "bn", {"in"}, {"a"}).layer("ReLU", "bn", {"a"}, {"b"});
  net.blob("bn", {2}, {8, -4}).blob("bn", {2}, {14, 3}).blob("bn", {1}, {4});
  EXPECT_EQ(net.refusal(), "");
  EXPECT_EQ(net.layer("BatchNorm", "bn", {"b"}, {"c"}).refusal(),
            "corrupt_file: layer 'bn' (BatchNorm): another layer of its name has its numbers in 'net.caffemodel'; give "
            "each layer that has numbers a name of its own");
}

TEST(CaffeLayers, BatchNormIsRefused) {
  const auto refusal = [](const std::string& parameters, const std::vector<std::vector<float>>& blobs) {
    CaffeNet net(input);
    net.layer("BatchNorm", "bn", {"in"}, {"out"}, parameters);
    for (const auto& blob : blobs) net.blob("bn", {static_cast<std::int64_t>(blob.size())}, blob);
    return net.refusal();
  };
  EXPECT_EQ(refusal("", {{1, 2}, {1, 2}, {1}}), "");
  EXPECT_THAT(refusal("", {{1, 2}, {1, 2}}), HasSubstr("has 2 blobs of numbers in 'net.caffemodel'; 3 are right"));
  EXPECT_THAT(refusal("", {{1, 2}, {1}, {1}}), HasSubstr("layer 'bn' (BatchNorm): blob 1 has 1 numbers; 2 are right"));
  EXPECT_THAT(refusal("", {{1, 2}, {1, 2}, {1, 2}}), HasSubstr("blob 2 has 2 numbers; 1 is right"));
  EXPECT_THAT(refusal("batch_norm_param { use_global_stats: false }", {}),
              HasSubstr("unsupported: layer 'bn' (BatchNorm by means of the batch): is not supported"));
}

TEST(CaffeLayers, ScaleBiasAndPReLU) {
  CaffeNet net(input);
  net.layer("Scale", "s", {"in"}, {"a"}, "scale_param { num_axes: 0 }").blob("s", {}, {2});
  net.layer("Bias", "b", {"a"}, {"b"}).blob("b", {2}, {3, 4});
  net.layer("PReLU", "p", {"b"}, {"c"}).blob("p", {2}, {0.5, 0.25});
  net.layer("PReLU", "q", {"c"}, {"d"}, "prelu_param { channel_shared: true }").blob("q", {}, {0.125});
  const Network network = net.read().network;
  EXPECT_THAT(describe(network), testing::Contains(HasSubstr("q: ")));
  const std::string of_others = CaffeNet(input)
                                    .layer("Scale", "s", {"in", "in"}, {"a"})
                                    .layer("Bias", "b", {"a"}, {"b"}, "bias_param { axis: 2 }")
                                    .refusal();
  EXPECT_THAT(of_others, HasSubstr("layer 's' (Scale by another blob): is not supported"));
  EXPECT_THAT(of_others, testing::Not(HasSubstr("; and")));
}

// Their one number is a blob without a shape.
TEST(CaffeLayers, NumbersForAllChannels) {
  CaffeNet net(input);
  net.layer("Scale", "s", {"in"}, {"a"}, "scale_param { num_axes: 0 bias_term: true }");
  net.blob("s", {}, {2}).blob("s", {}, {-3});
  net.layer("Bias", "b", {"a"}, {"b"}, "bias_param { num_axes: 0 }").blob("b", {}, {0.5});
  for (const std::size_t channel : {0U, 1U}) EXPECT_EQ(value_of(net.read(), channel, 1.25), 1.25 * 2 - 3 + 0.5);
  CaffeNet none(input);
  none.layer("Bias", "b", {"in"}, {"b"}, "bias_param { num_axes: 0 }").blob("b", {}, {});
  EXPECT_THAT(none.refusal(), HasSubstr("blob 0 in 'net.caffemodel' has 0 numbers; its extents, none, ask for 1"));
}

TEST(CaffeLayers, SumsAndProducts) {
  CaffeNet net(input);
  net.layer("ReLU", "r", {"in"}, {"r"}).layer("Sigmoid", "s", {"in"}, {"s"}).layer("TanH", "t", {"in"}, {"t"});
  net.layer("Eltwise", "sum", {"r", "s", "t"}, {"sum"});
  net.layer("Eltwise", "product", {"sum", "s"}, {"out"}, "eltwise_param { operation: PROD }");
  EXPECT_THAT(describe(net.read().network), ElementsAre("r: activation 2, relu <- in", "s: activation 2, sigmoid <- in",
                                                        "t: activation 2, tanh <- in", "sum/Add: add 2 <- r, s",
                                                        "sum: add 2 <- sum/Add, t", "product: multiply 2 <- sum, s"));
  CaffeNet dropped(input);
  dropped.layer("Dropout", "d", {"in"}, {"d"}).layer("Split", "s", {"d"}, {"a", "b"});
  dropped.layer("Eltwise", "e", {"a", "b"}, {"e"});
  EXPECT_THAT(describe(dropped.read().network), ElementsAre("e: add 2 <- in, in"));
  CaffeNet scaled(input);
  scaled.layer("Dropout", "d", {"in"}, {"d"}, "dropout_param { dropout_ratio: 0.5 scale_train: false }");
  EXPECT_THAT(scaled.refusal(), HasSubstr("layer 'd' (Dropout that scales when it is tested): is not supported"));
  CaffeNet other(input);
  other.layer("ReLU", "r", {"in"}, {"r"});
  EXPECT_THAT(other.layer("Eltwise", "e", {"in", "r"}, {"e"}, "eltwise_param { operation: MAX }").refusal(),
              HasSubstr("layer 'e' (Eltwise MAX): is not supported"));
}

// Coefficients are factors of the inputs.
TEST(CaffeLayers, SumsWithCoefficients) {
  CaffeNet net(input);
  net.layer("Power", "p", {"in"}, {"p"}, "power_param { shift: 1 }");
  net.layer("Eltwise", "e", {"in", "p"}, {"out"}, "eltwise_param { coeff: 3 coeff: -1 }");
  test::OnnxModel model(2);
  model.tensor("one", {}, {1}).clear_dims();
  model.tensor("three", {}, {3}).clear_dims();
  model.tensor("minus", {}, {-1}).clear_dims();
  model.node("Add", {"in", "one"}, {"p"}).set_name("p");
  model.node("Mul", {"in", "three"}, {"m"}).set_name("e/Mul");
  model.node("Mul", {"p", "minus"}, {"n"}).set_name("e/Mul 2");
  model.node("Add", {"m", "n"}, {"out"}).set_name("e");
  const LoadedNetwork caffe = fold_and_fuse(net.read());
  const LoadedNetwork onnx = fold_and_fuse(model.output("out").read());
  ASSERT_EQ(describe(caffe.network).size(), describe(onnx.network).size());
  for (std::size_t i = 0; i < caffe.weights.size(); ++i) {
    EXPECT_EQ(caffe.network.nodes[i].operation, onnx.network.nodes[i].operation);
    EXPECT_EQ(caffe.weights[i].scale, onnx.weights[i].scale);
    EXPECT_EQ(caffe.weights[i].shift, onnx.weights[i].shift);
  }
  CaffeNet wrong(input);
  EXPECT_THAT(wrong.layer("Eltwise", "e", {"in", "in"}, {"e"}, "eltwise_param { coeff: 3 }").refusal(),
              HasSubstr("layer 'e' (Eltwise): has 1 coefficients of 2 inputs"));
}

TEST(CaffeLayers, Channels) {
  CaffeNet net({1, 5, 8, 8, 8});
  net.layer("Slice", "cut", {"in"}, {"a", "b", "c"}, "slice_param { slice_point: 1 slice_point: 3 }");
  net.layer("Concat", "join", {"c", "a"}, {"j"}).layer("Softmax", "soft", {"j"}, {"s"});
  net.layer("Concat", "all", {"s", "b"}, {"out"}, "concat_param { axis: -4 }");
  const Network network = net.read().network;
  EXPECT_EQ(channels_of(network).back(), 5);
  EXPECT_THAT(describe(network), testing::Contains(HasSubstr("join: concat <- ")));
  CaffeNet even({1, 4, 8, 8, 8});
  even.layer("Slice", "cut", {"in"}, {"a", "b"}).layer("Eltwise", "e", {"a", "b"}, {"out"});
  EXPECT_EQ(channels_of(even.read().network).back(), 2);
  const auto refusal = [](std::string_view type, const std::string& parameters) {
    CaffeNet one({1, 4, 8, 8});
    return one.layer(type, "l", {"in"}, {"l"}, parameters).refusal();
  };
  EXPECT_THAT(refusal("Concat", "concat_param { axis: 2 }"), HasSubstr("layer 'l' (Concat of axis 2): is not"));
  EXPECT_THAT(refusal("Softmax", "softmax_param { axis: -1 }"), HasSubstr("layer 'l' (Softmax of axis -1): is not"));
  EXPECT_THAT(refusal("Slice", "slice_param { axis: 2 }"), HasSubstr("layer 'l' (Slice of axis 2): is not"));
  EXPECT_THAT(refusal("Slice", "slice_param { slice_point: 1 slice_point: 2 }"), HasSubstr("one fewer is right"));
  EXPECT_THAT(refusal("Power", "power_param { power: 2 }"), HasSubstr("layer 'l' (Power to other than 1): is not"));
}

// A linear layer of a patch, as the reader of ONNX has it.
TEST(CaffeLayers, InnerProducts) {
  std::vector<float> weights(3 * 2 * 4 * 4 * 4);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 17);
  CaffeNet net({1, 2, 4, 4, 4});
  net.layer("InnerProduct", "fc", {"in"}, {"fc"}, "inner_product_param { num_output: 3 }");
  net.blob("fc", {3, 128}, weights).blob("fc", {3}, {1, 2, 3});
  net.layer("ReLU", "r", {"fc"}, {"fc"});
  net.layer("InnerProduct", "last", {"fc"}, {"last"},
            "inner_product_param { num_output: 2 bias_term: false transpose: true }");
  net.blob("last", {3, 2}, {1, 2, 3, 4, 5, 6});
  net.layer("Scale", "scale", {"last"}, {"last"}).blob("scale", {2}, {2, 2});
  net.layer("Softmax", "soft", {"last"}, {"soft"});
  test::OnnxModel model(2);
  for (int axis = 0; axis < 3; ++axis) {
    auto& shape =
        *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.mutable_dim(axis + 2)->set_dim_value(4);
  }
  model.node("Flatten", {"in"}, {"row"});
  model.tensor("w", {3, 128}, weights);
  model.tensor("b", {3}, {1, 2, 3});
  test::set_integer(model.node("Gemm", {"row", "w", "b"}, {"fc"}), "transB", 1);
  model.node("Relu", {"fc"}, {"r"});
  model.tensor("v", {3, 2}, {1, 2, 3, 4, 5, 6});
  model.node("Gemm", {"r", "v"}, {"last"});
  model.tensor("two", {2}, {2, 2});
  model.node("Mul", {"last", "two"}, {"scaled"});
  test::set_integer(model.node("Softmax", {"scaled"}, {"soft"}), "axis", 1);
  const LoadedNetwork caffe = net.read();
  const LoadedNetwork onnx = model.output("soft").read();
  ASSERT_EQ(caffe.network.nodes.size(), onnx.network.nodes.size());
  for (std::size_t i = 0; i < caffe.network.nodes.size(); ++i) {
    EXPECT_EQ(caffe.network.nodes[i].operation, onnx.network.nodes[i].operation);
    EXPECT_EQ(caffe.weights[i].kernels, onnx.weights[i].kernels);
    EXPECT_EQ(caffe.weights[i].bias, onnx.weights[i].bias);
  }
  CaffeNet wrong({1, 2, 4, 4, 4});
  wrong.layer("InnerProduct", "fc", {"in"}, {"fc"}, "inner_product_param { num_output: 3 }");
  wrong.blob("fc", {1, 128}, std::vector<float>(128)).blob("fc", {3}, {1, 2, 3});
  EXPECT_THAT(wrong.refusal(), HasSubstr("layer 'fc' (InnerProduct): has 128 weights of num_output 3"));
}

TEST(CaffeLayers, FlattenOfAllAxes) {
  CaffeNet net({1, 2, 4, 4});
  net.layer("Flatten", "f", {"in"}, {"f"})
      .layer("InnerProduct", "fc", {"f"}, {"fc"}, "inner_product_param { num_output: 1 bias_term: false }");
  net.blob("fc", {1, 32}, std::vector<float>(32, 1));
  EXPECT_EQ(reaches(net.read().network).back().fov, (Vec3{1, 4, 4}));
  CaffeNet some({1, 2, 4, 4});
  EXPECT_THAT(some.layer("Flatten", "f", {"in"}, {"f"}, "flatten_param { axis: 2 }").refusal(),
              HasSubstr("layer 'f' (Flatten of some axes): is not supported"));
}

// All of them are named at once, with the types that are known.
TEST(CaffeLayers, UnknownLayers) {
  CaffeNet net(input);
  net.layer("LRN", "norm", {"in"}, {"norm"}).layer("Reshape", "shape", {"norm"}, {"shape"});
  net.layer("Python", "own", {"shape"}, {"own"}).layer("Log", "log", {"own"}, {"log"});
  net.layer("LRN", "again", {"log"}, {"again"});
  Blockers blockers;
  const std::string refusal = net.refusal(&blockers);
  EXPECT_THAT(refusal, HasSubstr("unsupported: layer 'norm' (LRN): is not supported; supported are: BatchNorm, Bias, "
                                 "Concat, Convolution, Crop"));
  EXPECT_EQ(blockers.count, 5);
  std::vector<std::string> kinds;
  for (const Blocker& kind : blockers.kinds) kinds.push_back(kind.what);
  EXPECT_THAT(kinds,
              testing::UnorderedElementsAre("local response normalisation", "Reshape layer", "Python", "Log layer"));
}

TEST(CaffeLayers, BlobsThatAreMissing) {
  CaffeNet net(input);
  EXPECT_THAT(net.layer("ReLU", "r", {}, {"r"}).refusal(), HasSubstr("layer 'r' (ReLU): has 0 bottoms and 1 tops"));
  CaffeNet shapes(input);
  shapes.layer("DummyData", "d", {}, {"d"}, "dummy_data_param { shape { dim: [1, 2, 3, 4, 5] } }");
  EXPECT_THAT(shapes.layer("ReLU", "r", {"d"}, {"r"}).refusal(), HasSubstr("layer 'r' (ReLU of DummyData): is not"));
}

}  // namespace
}  // namespace znni
