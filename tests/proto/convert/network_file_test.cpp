#include "proto/convert/network_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/caffe/caffe_net.hpp"
#include "tests/proto/convert/onnx/onnx_model.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::filesystem::path source_folder() { return test::case_folder().parent_path().parent_path(); }

// Checks ZNNi, table III, and the fields of view that follow from it.
TEST(NetworkFile, BenchmarkNets) {
  const std::tuple<const char*, std::int64_t, std::size_t, std::size_t> nets[] = {
      {"n337", 85, 10, 3}, {"n537", 163, 10, 3}, {"n726", 117, 8, 2}, {"n926", 155, 8, 2}};
  for (const auto& [name, fov, nodes, poolings] : nets) {
    const Result<LoadedNetwork> loaded =
        read_network_file(source_folder() / "planner" / "networks" / (std::string(name) + ".pbtxt"));
    ASSERT_TRUE(loaded) << loaded.error().message;
    const Network& network = loaded->network;
    EXPECT_TRUE(loaded->weights.empty());
    EXPECT_EQ(network.name, name);
    EXPECT_EQ(reaches(network).back().fov, Vec3::cube(fov));
    EXPECT_EQ(network.nodes.size(), nodes);
    EXPECT_EQ(pooling_nodes(network).size(), poolings);
    EXPECT_EQ(channels_of(network).back(), 3);
    EXPECT_EQ(channels_of(network)[1], 80);
  }
}

TEST(NetworkFile, OnnxIsFused) {
  const test::TemporaryDirectory folder;
  const Result<LoadedNetwork> loaded = read_network_file(folder.write("model.onnx", test::rich_model().bytes()));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->network.nodes.size(), 6U);
  EXPECT_TRUE(check_weights(loaded->network, loaded->weights));
}

TEST(NetworkFile, TrainingFusesNothing) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("model.onnx", test::rich_model().bytes());
  const Result<LoadedNetwork> loaded = read_network_to_train(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const LoadedNetwork trained = fold_scales(test::rich_model().read());
  EXPECT_EQ(loaded->network, trained.network);
  EXPECT_EQ(loaded->weights[0].kernels, trained.weights[0].kernels);
  EXPECT_NE(loaded->network, read_network_file(path)->network);
  EXPECT_THAT(read_network_to_train("net.pb").error().message,
              StartsWith("net.pb: .onnx, .prototxt or .pbtxt is right"));
}

TEST(NetworkFile, WeightsBesideTheModel) {
  const test::TemporaryDirectory folder;
  test::OnnxModel model = test::rich_model();
  onnx::TensorProto& tensor = *model.proto.mutable_graph()->mutable_initializer(0);
  const std::string weights = tensor.raw_data();
  const LoadedNetwork whole = fold_and_fuse(model.read());
  test::move_outside(tensor, "model.onnx.data");
  const std::string path = folder.write("model.onnx", model.bytes());
  EXPECT_THAT(read_network_file(path).error().message, StartsWith(path + ": tensor '" + tensor.name() + "': "));
  folder.write("model.onnx.data", weights);
  const Result<LoadedNetwork> loaded = read_network_file(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->network, whole.network);
  EXPECT_EQ(loaded->weights[0].kernels, whole.weights[0].kernels);
}

// Large tensors are read from the file when they are needed, small ones with the message.
TEST(NetworkFile, LargeTensorsAreReadFromTheFileItself) {
  test::OnnxModel model(64);
  model.conv("in", "a", 64, 300, {1, 1, 1});
  model.conv("a", "b", 300, 2, {1, 1, 1});
  model.output("b");
  const LoadedNetwork whole = fold_and_fuse(model.read());
  const test::TemporaryDirectory folder;
  const Result<LoadedNetwork> loaded = read_network_file(folder.write("model.onnx", model.bytes()));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->network, whole.network);
  for (std::size_t node = 0; node < 2; ++node) {
    EXPECT_EQ(loaded->weights[node].kernels, whole.weights[node].kernels);
    EXPECT_EQ(loaded->weights[node].bias, whole.weights[node].bias);
  }
}

TEST(NetworkFile, WeightsThatTakeTooMuchAreRefusedBeforeTheyAreRead) {
  test::OnnxModel model(1);
  model.conv("in", "a", 1, 2, {3, 3, 3});
  model.output("a");
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("model.onnx", model.bytes());
  EXPECT_TRUE(read_network_file(path, {56 * 4, {}}));
  const Error refused = read_network_file(path, {56 * 4 - 1, {}}).error();
  EXPECT_EQ(refused.code, ErrorCode::over_budget);
  EXPECT_THAT(refused.message, StartsWith(path + ": its weights take 224 B as float32, and 223 B may be used"));
}

TEST(NetworkFile, ErrorsBeginWithThePath) {
  const test::TemporaryDirectory folder;
  const std::string bytes = test::rich_model().bytes();
  const std::string cut = folder.write("cut.onnx", std::string_view(bytes).substr(0, bytes.size() / 2));
  const Error truncated = read_network_file(cut).error();
  EXPECT_EQ(truncated.code, ErrorCode::corrupt_file);
  EXPECT_THAT(truncated.message, StartsWith(cut + ": not an ONNX model, or cut short"));

  const std::string text = folder.write("net.pbtxt", "node { foo {} }");
  EXPECT_THAT(read_network_file(text).error().message,
              StartsWith(text + ": line 1: znni.text.Node has no field 'foo'"));

  const std::string missing = folder.path() / "none.onnx";
  EXPECT_EQ(read_network_file(missing).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_network_file(missing).error().message, missing + ": no such file");
  EXPECT_THAT(read_network_file(folder.write("net.pb", "")).error().message,
              HasSubstr("net.pb: .onnx, .prototxt or .pbtxt is right for a network"));
}

TEST(NetworkFile, CaffeIsFused) {
  test::CaffeNet net({1, 1, 8, 8, 8});
  net.layer("Convolution", "c", {"in"}, {"c"}, "convolution_param { num_output: 1 kernel_size: 1 }");
  net.blob("c", {1, 1, 1, 1, 1}, {2}).blob("c", {1}, {3}).layer("ReLU", "r", {"c"}, {"c"});
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("net.prototxt", net.text);
  NetworkReading reading;
  reading.numbers = folder.write("other.caffemodel", net.numbers.SerializeAsString());
  const Result<LoadedNetwork> loaded = read_network_file(path, reading);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->network.nodes.size(), 1U);
  EXPECT_EQ(loaded->weights[0].kernels, std::vector<float>{2});
  const std::string other = folder.write("model.onnx", test::rich_model().bytes());
  EXPECT_EQ(read_network_file(other, reading).error().message,
            other + ": weights in a file of their own are those of a .prototxt");
}

TEST(NetworkFile, OutputsAreChosenFromAnOnnxFile) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("net.pbtxt", "node { conv { f_out: 1 k: 2 } }");
  EXPECT_EQ(read_network_file(path, {saturated, {"a"}}).error().message,
            path + ": outputs are chosen from an .onnx or .prototxt file; name none");
  const std::string onnx = folder.write("model.onnx", test::rich_model().bytes());
  EXPECT_TRUE(read_network_file(onnx, {saturated, {"out"}}));
  const Error missing = read_network_file(onnx, {saturated, {"prob"}}).error();
  EXPECT_EQ(missing.code, ErrorCode::invalid_argument);
  EXPECT_EQ(missing.message, onnx + ": output 'prob' is wanted, which the file has not; it has 'out'");
}

TEST(NetworkFile, BlockersOfARefusedModelAreListedAndCountedInTheError) {
  const test::TemporaryDirectory folder;
  test::OnnxModel model;
  model.node("Einsum", {"in"}, {"a"});
  const std::string one = folder.write("one.onnx", model.output("a").bytes());
  Blockers blockers;
  const Error single = read_network_file(one, {}, &blockers).error();
  EXPECT_EQ(single.message.find("planner check"), std::string::npos);
  EXPECT_EQ(blockers.count, 1);
  model.node("Einsum", {"a"}, {"b"});
  model.node("Trilu", {"b"}, {"c"});
  model.proto.mutable_graph()->clear_output();
  const std::string more = folder.write("more.onnx", model.output("c").bytes());
  const Error several = read_network_file(more, {}, &blockers).error();
  EXPECT_THAT(several.message, StartsWith(more + ": node '/a' (Einsum): operator is not supported; supported are: "));
  EXPECT_THAT(several.message, testing::EndsWith("; and 2 more of 2 kinds: planner check " + more + " lists them"));
  EXPECT_EQ(blockers.count, 3);
  EXPECT_TRUE(read_network_file(folder.write("sound.onnx", test::rich_model().bytes()), {}, &blockers));
  EXPECT_EQ(blockers, Blockers());
}

TEST(NetworkFile, TheShippedModel) {
  const std::filesystem::path path = source_folder() / "deploy/models/fib25-boundary/1/model.onnx";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Result<LoadedNetwork> loaded = read_network_file(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(channels_of(loaded->network).back(), 1);
}

}  // namespace
}  // namespace znni
