#include "proto/convert/caffe/caffe_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/caffe/caffe_net.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using test::CaffeNet;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* conv_of_3 = "convolution_param { num_output: 3 kernel_size: 3 pad: 1 }";

// A U-Net whose skips are added, with the layers of published ones.
CaffeNet unet() {
  test::Random random(test::base_seed());
  CaffeNet net({2, 1, 6, 16, 16});
  const auto conv = [&](const std::string& name, const std::string& from, std::int64_t f, std::int64_t f_out) {
    const std::string out = std::to_string(f_out);
    net.layer("Convolution", name, {from}, {name},
              "convolution_param { num_output: " + out +
                  " bias_term: false pad: 0 pad: 1 pad: 1 kernel_size: 1 kernel_size: 3 kernel_size: 3 stride: 1 "
                  "stride: 1 stride: 1 weight_filler { type: \"msra\" } }");
    net.blob(name, {f_out, f, 1, 3, 3}, random.normals(f * f_out * 9));
    net.layer("BatchNorm", name + "_bn", {name}, {name}, "batch_norm_param { use_global_stats: true }");
    net.blob(name + "_bn", {f_out}, random.normals(f_out));
    net.blob(name + "_bn", {f_out}, std::vector<float>(static_cast<std::size_t>(f_out), 2))
        .blob(name + "_bn", {1}, {2});
    net.layer("Scale", name + "_scale", {name}, {name}, "scale_param { bias_term: true }");
    net.blob(name + "_scale", {f_out}, random.normals(f_out)).blob(name + "_scale", {f_out}, random.normals(f_out));
    net.layer("ELU", name + "_elu", {name}, {name});
  };
  conv("a", "in", 1, 4);
  net.layer("Pooling", "pool", {"a"}, {"pool"},
            "pooling_param { pool: MAX kernel_size: 1 kernel_size: 2 kernel_size: 2 stride: 1 stride: 2 stride: 2 }");
  conv("b", "pool", 4, 6);
  net.layer("Deconvolution", "up", {"b"}, {"up"},
            "convolution_param { num_output: 4 bias_term: false kernel_size: 1 kernel_size: 2 kernel_size: 2 stride: 1 "
            "stride: 2 stride: 2 }");
  net.blob("up", {6, 4, 1, 2, 2}, random.normals(96));
  net.layer("Eltwise", "sum", {"up", "a"}, {"sum"});
  net.layer("Convolution", "score", {"sum"}, {"score"}, "convolution_param { num_output: 2 kernel_size: 1 }");
  net.blob("score", {2, 4, 1, 1, 1}, random.normals(8)).blob("score", {2}, random.normals(2));
  net.layer("Sigmoid", "out", {"score"}, {"out"});
  return net;
}

TEST(CaffeReader, UNet) {
  const LoadedNetwork loaded = unet().read();
  EXPECT_EQ(loaded.network.name, "net");
  EXPECT_EQ(loaded.network.input_name, "in");
  EXPECT_EQ(loaded.network.output_name, "out");
  EXPECT_TRUE(check(loaded.network));
  EXPECT_TRUE(check_weights(loaded.network, loaded.weights));
  const LoadedNetwork fused = fold_and_fuse(loaded);
  EXPECT_EQ(period(fused.network), (Vec3{1, 2, 2}));
}

TEST(CaffeReader, InputsOfFields) {
  CaffeNet net({1});
  net.text =
      "input: 'x' input_dim: 1 input_dim: 2 input_dim: 30 input_dim: 40 "
      "layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' }";
  EXPECT_EQ(net.read().network.spatial_rank, 2);
  net.text =
      "input: 'a' input: 'b' input_shape { dim: [1, 2, 8, 8, 8] } input_shape { dim: [1, 3, 8, 8, 8] } "
      "layer { name: 'c' type: 'Concat' bottom: 'b' bottom: 'a' top: 'y' }";
  EXPECT_EQ(net.read().network.inputs, (std::vector<NamedTensor>{{"a", 2}, {"b", 3}}));
  net.text = "input: 'x' input_dim: 1 input_dim: 2 layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' }";
  EXPECT_THAT(net.refusal(), HasSubstr("has 1 inputs, and extents of another number of them"));
  net.text = "input: 'x' layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' }";
  EXPECT_THAT(net.refusal(), HasSubstr("has 1 inputs, and extents of another number of them"));
}

TEST(CaffeReader, InputsThatAreRefused) {
  EXPECT_THAT(CaffeNet({1, 2}).layer("ReLU", "r", {"in"}, {"r"}).refusal(),
              HasSubstr("unsupported: input 'in' has 2 axes; [N, C, Z, Y, X] and fewer spatial axes are supported"));
  CaffeNet net({1});
  net.text = "layer { name: 'x' type: 'Input' top: 'x' }";
  EXPECT_THAT(net.refusal(), HasSubstr("layer 'x' (Input): does not say its extents"));
  net.text =
      "input: 'x' input_dim: 1 input_dim: 2 input_dim: 0 input_dim: 40 layer { type: 'ReLU' bottom: 'x' top: 'y' }";
  EXPECT_THAT(net.refusal(), HasSubstr("corrupt_file: input 'x': its extents are 1x2x0x40; each from 1 to "));
  net.text = "layer { name: 'x' type: 'Data' top: 'x' }";
  EXPECT_THAT(net.refusal(), HasSubstr("unsupported: has no Input layer: that for deployment is right"));
}

TEST(CaffeReader, OneInputLayerMayHaveSeveralBlobs) {
  CaffeNet net({1});
  net.text =
      "layer { name: 'i' type: 'Input' top: 'a' top: 'b' input_param { shape { dim: [1, 1, 8, 8] } } } "
      "layer { name: 'e' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'y' }";
  EXPECT_EQ(net.read().network.inputs, (std::vector<NamedTensor>{{"a", 1}, {"b", 1}}));
}

TEST(CaffeReader, OutputsMayBeChosen) {
  CaffeNet net({1, 2, 8, 8, 8});
  net.layer("ReLU", "r", {"in"}, {"x"}).layer("TanH", "t", {"in"}, {"y"});
  EXPECT_EQ(net.read().network.outputs, (std::vector<NamedTensor>{{"x", 2}, {"y", 2}}));
  const Result<LoadedNetwork> one = read_caffe(net.text, net.numbers, "", {saturated, {"y"}});
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->network.output_name, "y");
}

TEST(CaffeReader, Files) {
  const CaffeNet net = unet();
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("net.prototxt", net.text);
  const std::string missing = folder.path() / "net.caffemodel";
  const Result<LoadedNetwork> alone = read_caffe_files(path, {});
  EXPECT_EQ(alone.error().code, ErrorCode::not_found);
  EXPECT_THAT(alone.error().message, StartsWith(missing + ": "));
  EXPECT_THAT(alone.error().message, HasSubstr(", which has the numbers of " + path));
  const std::string bytes = net.numbers.SerializeAsString();
  NetworkReading elsewhere;
  elsewhere.numbers = folder.write("other.caffemodel", bytes);
  const Result<LoadedNetwork> named = read_caffe_files(path, elsewhere);
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(named->network, net.read().network);
  folder.write("net.caffemodel", bytes);
  EXPECT_TRUE(read_caffe_files(path, {}));
  EXPECT_EQ(read_caffe_files(path, {100, {}}).error().code, ErrorCode::over_budget);
  folder.write("net.caffemodel", bytes.substr(0, bytes.size() / 2));
  const Result<LoadedNetwork> cut = read_caffe_files(path, {});
  EXPECT_EQ(cut.error().code, ErrorCode::corrupt_file);
  EXPECT_THAT(cut.error().message, StartsWith(missing + ": "));
}

// The weights that are needed count, not the file.
TEST(CaffeReader, WeightsThatTakeTooMuch) {
  const CaffeNet net = unet();
  const Result<LoadedNetwork> large = read_caffe(net.text, net.numbers, "", {100, {}});
  EXPECT_EQ(large.error().code, ErrorCode::over_budget);
}

TEST(CaffeReader, RefusalsOfFilesNameTheFileAndHowMany) {
  CaffeNet net({1, 2, 8, 8, 8});
  net.layer("LRN", "a", {"in"}, {"a"}).layer("Python", "b", {"a"}, {"b"});
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("net.prototxt", net.text);
  folder.write("net.caffemodel", net.numbers.SerializeAsString());
  Blockers blockers;
  const Result<LoadedNetwork> refused = read_caffe_files(path, {}, &blockers);
  EXPECT_THAT(refused.error().message, StartsWith(path + ": layer 'a' (LRN): is not supported; supported are: "));
  EXPECT_THAT(refused.error().message, HasSubstr("; and 1 more of 2 kinds: planner check " + path + " lists them"));
  EXPECT_EQ(blockers.count, 2);
  folder.write("net.prototxt", "layers { name: 'a' }");
  EXPECT_THAT(read_caffe_files(path, {}).error().message, StartsWith(path + ": is in Caffe's format before 2015"));
}

// A net that is read whose numbers are of another one is wrong, and no blocker.
TEST(CaffeReader, MissingNumbersAreNoBlocker) {
  CaffeNet net({1, 2, 8, 8, 8});
  net.layer("Convolution", "c", {"in"}, {"c"}, conv_of_3);
  Blockers blockers;
  EXPECT_THAT(net.refusal(&blockers), StartsWith("corrupt_file: layer 'c' (Convolution): has 0 blobs of numbers"));
  EXPECT_EQ(blockers.count, 0);
}

}  // namespace
}  // namespace znni
