#include "proto/convert/caffe/caffe_spatial.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/proto/convert/caffe/caffe_net.hpp"
#include "tests/proto/convert/onnx/onnx_model.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::CaffeNet;
using test::Integers;
using test::OnnxModel;
using test::Random;
using testing::HasSubstr;

std::vector<float> numbers(std::int64_t count, Random& random) { return random.normals(count); }

std::string repeated(const std::string& name, const Integers& values) {
  std::string text;
  for (const std::int64_t value : values) text += name + ": " + std::to_string(value) + " ";
  return text;
}

// Fails unless both files make the same network of the same numbers.
void expect_same(const LoadedNetwork& caffe, const LoadedNetwork& onnx) {
  EXPECT_EQ(caffe.network, onnx.network) << testing::PrintToString(describe(caffe.network)) << " and "
                                         << testing::PrintToString(describe(onnx.network));
  ASSERT_EQ(caffe.weights.size(), onnx.weights.size());
  for (std::size_t i = 0; i < caffe.weights.size(); ++i) {
    EXPECT_EQ(caffe.weights[i].kernels, onnx.weights[i].kernels);
    EXPECT_EQ(caffe.weights[i].bias, onnx.weights[i].bias);
  }
}

void set_windows(onnx::NodeProto& node, const Integers& stride, const Integers& pad, const Integers& dilation) {
  Integers pads = pad;
  pads.insert(pads.end(), pad.begin(), pad.end());
  test::set_integers(node, "strides", stride);
  test::set_integers(node, "pads", pads);
  test::set_integers(node, "dilations", dilation);
}

// Declares the extents of the input.
void declare(OnnxModel& model, const Integers& extents) {
  auto& shape = *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int axis = 0; axis < static_cast<int>(extents.size()); ++axis) {
    shape.mutable_dim(axis + 2)->set_dim_value(extents[static_cast<std::size_t>(axis)]);
  }
}

// Convolutions, also transposed ones, are the operators of ONNX with these weights.
TEST(CaffeSpatial, ConvolutionsAreThoseOfOnnx) {
  for (int i = 0; i < test::case_count(40); ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const int rank = static_cast<int>(random.integer(1, 3));
    const auto draw = [&](std::int64_t low, std::int64_t high) {
      Integers values;
      for (int axis = 0; axis < rank; ++axis) values.push_back(random.integer(low, high));
      return values;
    };
    const bool is_transposed = random.chance(0.5);
    const bool has_bias = random.chance(0.7);
    const std::int64_t groups = random.integer(1, 2);
    const std::int64_t f = groups * random.integer(1, 3);
    const std::int64_t f_out = groups * random.integer(1, 3);
    Integers k = draw(1, 3);
    const Integers stride = draw(1, 2);
    Integers pad = draw(0, 2);
    Integers dilation = draw(1, 2);
    // No output may be larger than the volume.
    for (std::size_t axis = 0; axis < k.size(); ++axis) {
      pad[axis] = std::min(pad[axis], dilation[axis] * (k[axis] - 1) / 2);
      if (!is_transposed) continue;
      k[axis] = stride[axis] == 2 ? 2 : 3;
      pad[axis] = stride[axis] == 2 ? 0 : dilation[axis];
      if (stride[axis] == 2) dilation[axis] = 1;
    }
    Integers extents = is_transposed ? Integers{f, f_out / groups} : Integers{f_out, f / groups};
    extents.insert(extents.end(), k.begin(), k.end());
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    const std::vector<float> kernels = numbers(count, random);
    const std::vector<float> bias = numbers(f_out, random);
    Integers input = {1, f};
    input.resize(static_cast<std::size_t>(rank) + 2, 16);
    CaffeNet net(input);
    net.layer("Pooling", "low", {"in"}, {"low"}, "pooling_param { kernel_size: 2 stride: 2 }");
    net.layer(is_transposed ? "Deconvolution" : "Convolution", "out", {"low"}, {"out"},
              "convolution_param { num_output: " + std::to_string(f_out) + " group: " + std::to_string(groups) +
                  (has_bias ? " " : " bias_term: false ") + repeated("kernel_size", k) + repeated("stride", stride) +
                  repeated("pad", pad) + repeated("dilation", dilation) + "}");
    net.blob("out", extents, kernels);
    if (has_bias) net.blob("out", {f_out}, bias);
    OnnxModel model(f, rank);
    model.tensor("w", extents, kernels);
    declare(model, Integers(static_cast<std::size_t>(rank), 16));
    onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"low"});
    pool.set_name("low");
    const Integers twos(static_cast<std::size_t>(rank), 2);
    test::set_integers(pool, "kernel_shape", twos);
    test::set_integers(pool, "strides", twos);
    test::Names inputs = {"low", "w"};
    if (has_bias) inputs.emplace_back("b");
    if (has_bias) model.tensor("b", {f_out}, bias);
    onnx::NodeProto& node = model.node(is_transposed ? "ConvTranspose" : "Conv", inputs, {"out"});
    node.set_name("out");
    set_windows(node, stride, pad, dilation);
    test::set_integer(node, "group", groups);
    expect_same(net.read(), model.output("out").read());
  }
}

TEST(CaffeSpatial, HeightAndWidthOfAChannel) {
  CaffeNet net({1, 1, 8, 8});
  net.layer("Convolution", "out", {"in"}, {"out"},
            "convolution_param { num_output: 1 kernel_h: 1 kernel_w: 3 stride_w: 2 pad_w: 1 bias_term: false }");
  net.blob("out", {1, 1, 1, 3}, {1, 2, 3});
  const Network network = net.read().network;
  EXPECT_EQ(network.spatial_rank, 2);
  EXPECT_THAT(describe(network), testing::Contains(HasSubstr("out: conv 1 -> 1, k 1x1x3, stride 1x1x2 <- ")));
}

// Blobs of old files have four axes, and those of snapshots may be of double precision.
TEST(CaffeSpatial, OldBlobs) {
  CaffeNet net({1, 1, 8, 8});
  net.layer("Convolution", "out", {"in"}, {"out"}, "convolution_param { num_output: 2 kernel_size: 1 }");
  net.blob("out", {}, {}).blob("out", {}, {});
  caffe::BlobProto& kernels = *net.numbers.mutable_layer(0)->mutable_blobs(0);
  kernels.clear_shape();
  kernels.set_num(2);
  kernels.set_channels(1);
  kernels.set_height(1);
  kernels.set_width(1);
  kernels.add_double_data(0.5);
  kernels.add_double_data(-2);
  caffe::BlobProto& bias = *net.numbers.mutable_layer(0)->mutable_blobs(1);
  bias.clear_shape();
  bias.set_num(1);
  bias.set_channels(1);
  bias.set_height(1);
  bias.set_width(2);
  bias.add_data(3);
  bias.add_data(4);
  const LoadedNetwork loaded = net.read();
  EXPECT_EQ(loaded.weights[0].kernels, (std::vector<float>{0.5F, -2}));
  EXPECT_EQ(loaded.weights[0].bias, (std::vector<float>{3, 4}));
}

std::string refused(const std::string& parameters, const Integers& kernels, std::int64_t count) {
  CaffeNet net({1, 2, 8, 8, 8});
  net.layer("Convolution", "c", {"in"}, {"c"}, "convolution_param { " + parameters + " }");
  net.blob("c", kernels, std::vector<float>(static_cast<std::size_t>(count))).blob("c", {3}, {1, 2, 3});
  return net.refusal();
}

TEST(CaffeSpatial, NumbersThatDoNotFit) {
  EXPECT_EQ(refused("num_output: 3 kernel_size: 1", {3, 2, 1, 1, 1}, 6), "");
  EXPECT_THAT(
      refused("num_output: 3 kernel_size: 1", {3, 2, 1, 1, 1}, 5),
      HasSubstr("layer 'c' (Convolution): blob 0 in 'net.caffemodel' has 5 numbers; its extents, 3x2x1x1x1, ask "
                "for 6"));
  EXPECT_THAT(refused("num_output: 3 kernel_size: 2", {3, 2, 1, 1, 1}, 6),
              HasSubstr("its kernels are of extents 3x2x1x1x1; num_output is 3 and kernel_size 2x2x2"));
  EXPECT_THAT(refused("num_output: 4 kernel_size: 1", {4, 2, 1, 1, 1}, 8),
              HasSubstr("layer 'c' (Convolution): blob 1 in 'net.caffemodel' has 3 numbers; 4 are right"));
  EXPECT_THAT(refused("num_output: 3 kernel_size: 1", {3, 1, 1, 1, 1}, 3), HasSubstr("layer 'c' (Conv): "));
  EXPECT_THAT(refused("num_output: 3 kernel_size: 1 bias_term: false", {3, 2, 1, 1, 1}, 6),
              HasSubstr("has 2 blobs of numbers in 'net.caffemodel'; 1 is right"));
  EXPECT_THAT(refused("num_output: 3 kernel_size: 1 group: 2", {3, 1, 1, 1, 1}, 3),
              HasSubstr("num_output is 3 and group 2"));
  EXPECT_THAT(refused("num_output: 3", {3, 2, 1, 1, 1}, 6), HasSubstr("layer 'c' (Convolution): has 0 values of"));
  EXPECT_THAT(refused("num_output: 3 kernel_size: 1 axis: 2", {3, 2, 1, 1, 1}, 6),
              HasSubstr("layer 'c' (Convolution of axis 2): is not supported; supported are: BatchNorm, Bias"));
  CaffeNet without({1, 2, 8, 8, 8});
  without.layer("Convolution", "c", {"in"}, {"c"}, "convolution_param { num_output: 3 kernel_size: 1 }");
  EXPECT_THAT(without.refusal(), HasSubstr("layer 'c' (Convolution): has 0 blobs of numbers in 'net.caffemodel'"));
}

Network pooled(std::int64_t n, const std::string& parameters) {
  CaffeNet net({1, 1, n, n, n});
  net.layer("Pooling", "p", {"in"}, {"p"}, "pooling_param { " + parameters + " }");
  return net.read().network;
}

// Returns the network of a pooling of ONNX.
Network pooled_by_onnx(std::int64_t n, const char* operation, bool ceil, std::int64_t pad) {
  OnnxModel model(1);
  declare(model, {n, n, n});
  onnx::NodeProto& node = model.node(operation, {"in"}, {"p"});
  node.set_name("p");
  test::set_integers(node, "kernel_shape", {3, 3, 3});
  set_windows(node, {2, 2, 2}, {pad, pad, pad}, {1, 1, 1});
  if (ceil) test::set_integer(node, "ceil_mode", 1);
  if (std::string(operation) == "AveragePool") test::set_integer(node, "count_include_pad", 1);
  return model.output("p").read().network;
}

TEST(CaffeSpatial, PoolingsRoundUpWhereThereIsARest) {
  const std::string windows = "kernel_size: 3 stride: 2";
  EXPECT_EQ(pooled(9, windows), pooled_by_onnx(9, "MaxPool", false, 0));
  EXPECT_EQ(pooled(8, windows), pooled_by_onnx(8, "MaxPool", true, 0));
  EXPECT_EQ(pooled(8, windows + " round_mode: FLOOR"), pooled_by_onnx(8, "MaxPool", false, 0));
  EXPECT_EQ(pooled(9, windows + " pool: AVE pad: 1"), pooled_by_onnx(9, "AveragePool", false, 1));
  EXPECT_EQ(pooled(8, windows + " pool: AVE"), pooled_by_onnx(8, "AveragePool", true, 0));
  EXPECT_NE(pooled_by_onnx(8, "MaxPool", false, 0), pooled_by_onnx(8, "MaxPool", true, 0));
}

TEST(CaffeSpatial, PoolingsOfAllVoxels) {
  OnnxModel model(1);
  model.node("GlobalAveragePool", {"in"}, {"p"}).set_name("p");
  Network expected = model.output("p").read().network;
  expected.window = Vec3::cube(6);
  EXPECT_EQ(pooled(6, "pool: AVE global_pooling: true"), expected);
}

TEST(CaffeSpatial, PoolingsThatAreRefused) {
  CaffeNet net({1, 1, 8, 8});
  net.layer("Pooling", "a", {"in"}, {"a"}, "pooling_param { pool: STOCHASTIC kernel_size: 2 }");
  net.layer("Pooling", "b", {"in"}, {"b", "indices"}, "pooling_param { kernel_size: 2 }");
  Blockers blockers;
  EXPECT_THAT(net.refusal(&blockers), HasSubstr("layer 'a' (Pooling STOCHASTIC): is not supported"));
  EXPECT_EQ(blockers.count, 2);
  ASSERT_EQ(blockers.kinds.size(), 2U);
  EXPECT_EQ(blockers.kinds[1].what, "Pooling with indices");
}

// The extents that are left are those of the second blob, whichever they are.
TEST(CaffeSpatial, CropsToAnotherBlob) {
  CaffeNet net({1, 1, 12, 12, 12});
  net.layer("Pooling", "low", {"in"}, {"low"}, "pooling_param { kernel_size: 3 }");
  net.layer("Crop", "out", {"in", "low"}, {"out"}, "crop_param { axis: 3 offset: 2 offset: 1 }");
  net.layer("Silence", "none", {"low"}, {});
  CaffeNet dummy({1, 1, 12, 12, 12});
  dummy.layer("DummyData", "d", {}, {"d", "e"}, "dummy_data_param { shape { dim: [1, 7, 10, 10, 10] } }");
  dummy.layer("Crop", "out", {"in", "d"}, {"out"}, "crop_param { axis: -2 offset: 2 offset: 1 }");
  for (const CaffeNet* one : {&net, &dummy}) {
    const Network network = one->read().network;
    ASSERT_EQ(network.nodes.size(), 1U);
    EXPECT_EQ(network.nodes[0].operation, Operation(Crop{{0, 2, 1}, {0, 0, 1}}));
    EXPECT_EQ(network.nodes[0].name, "out");
  }
}

TEST(CaffeSpatial, CropsThatAreRefused) {
  const auto refusal = [](const std::string& parameters) {
    CaffeNet net({1, 1, 8, 8});
    net.layer("Pooling", "p", {"in"}, {"p"}, "pooling_param { kernel_size: 3 }");
    return net.layer("Crop", "c", {"in", "p"}, {"c"}, "crop_param { " + parameters + " }").refusal();
  };
  EXPECT_EQ(refusal("offset: 1"), "");
  EXPECT_THAT(refusal("axis: 1"), HasSubstr("layer 'c' (Crop of axis 1): is not supported"));
  CaffeNet empty({1, 1, 8, 8});
  empty.layer("DummyData", "d", {}, {"d"}, "dummy_data_param { shape { dim: [1, 1, -4, 4] } }");
  EXPECT_THAT(empty.layer("Crop", "c", {"in", "d"}, {"c"}).refusal(),
              HasSubstr("layer 'd' (DummyData): its extents are 1x1x-4x4; each from 1 to 2147483647 is right"));
  EXPECT_THAT(refusal("axis: 2 offset: 1 offset: 1 offset: 1"), HasSubstr("has 3 offsets; 1 or 2 are right"));
}

}  // namespace
}  // namespace znni
