// Transposed convolutions are written as such, and read back as the same network.
#include "proto/convert/onnx/writer/onnx_written_transposed.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/network/made_valid.hpp"
#include "planner/network/padding.hpp"
#include "proto/convert/onnx/reader/onnx_reader.hpp"
#include "proto/convert/onnx/writer/onnx_writer.hpp"

namespace znni {
namespace {

constexpr std::int64_t f_out = 3;

// A pooling, and a transposed convolution of `taps` taps for each voxel of its factor.
LoadedNetwork transposed(Vec3 taps, Vec3 factor, int rank = 3) {
  Network network;
  network.spatial_rank = rank;
  network.f_in = 2;
  network.nodes = {{"pool", Pooling{PoolKind::max, factor, factor}, {0}},
                   {"up", Convolution{f_out * voxels(factor), taps, Vec3::cube(1), {}}, {1}},
                   {"up #2", Upsample{factor, UpsampleKind::shuffle}, {2}},
                   {"up #3", Crop{taps - Vec3::cube(1), (taps - Vec3::cube(1)) * (factor - Vec3::cube(1))}, {3}}};
  const Vec3 around = taps - Vec3::cube(1);
  NetworkWeights weights = random_weights(network, 7);
  std::vector<float>& bias = weights[1].bias;
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = bias[i % f_out];
  Result<LoadedNetwork> padded = without_padding({network, weights}, {{}, {around, around}, {}, {}});
  EXPECT_TRUE(padded) << padded.error().message;
  return *std::move(padded);
}

Border around(Vec3 taps) { return {taps - Vec3::cube(1), taps - Vec3::cube(1)}; }

void expect_kept(const LoadedNetwork& loaded) {
  const Result<onnx::ModelProto> model = onnx_of(loaded);
  ASSERT_TRUE(model) << model.error().message;
  const auto& nodes = model->graph().node();
  EXPECT_TRUE(
      std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.op_type() == "ConvTranspose"; }));
  const Result<LoadedNetwork> again = read_onnx(*model);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->network, loaded.network);
  for (std::size_t i = 0; i < again->weights.size(); ++i) {
    EXPECT_EQ(again->weights[i].kernels, loaded.weights[i].kernels);
    EXPECT_EQ(again->weights[i].bias, loaded.weights[i].bias);
  }
}

TEST(ConvertOnnxWrittenTransposed, ItReadsBackAsTheSameNetwork) {
  expect_kept(transposed({2, 1, 3}, {2, 3, 2}));
  expect_kept(transposed({1, 2, 3}, {1, 2, 2}, 2));
  LoadedNetwork plain = transposed(Vec3::cube(2), Vec3::cube(2));
  plain.weights[1].bias.clear();
  expect_kept(plain);
}

TEST(ConvertOnnxWrittenTransposed, ItIsKeptWithoutThePaddingOfOthers) {
  Network network;
  network.f_in = 2;
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  network.nodes = {{"pool", Pooling{}, {0}},
                   {"up", Convolution{16, Vec3::cube(2), Vec3::cube(1), {}}, {1}},
                   {"up #2", Upsample{Vec3::cube(2), UpsampleKind::shuffle}, {2}},
                   {"up #3", Crop{Vec3::cube(1), Vec3::cube(1)}, {3}},
                   {"both", Concat{}, {0, 4}},
                   {"last", Convolution{2, Vec3::cube(3), Vec3::cube(1), {}}, {5}}};
  NetworkWeights weights = random_weights(network, 7);
  weights[1].bias.clear();
  const Result<LoadedNetwork> padded = without_padding({network, weights}, {{}, one, {}, {}, {}, one});
  ASSERT_TRUE(padded) << padded.error().message;
  const Result<MadeValid> made = make_valid(*padded);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->changes.empty());
  expect_kept(made->loaded);
}

TEST(ConvertOnnxWrittenTransposed, AConvolutionAndAShuffleAreOne) {
  const Vec3 taps{2, 1, 3};
  LoadedNetwork loaded = transposed(taps, {2, 3, 2});
  EXPECT_EQ(shuffle_of(loaded, 1, around(taps)), 2);
  EXPECT_EQ(shuffle_of(loaded, 0, {}), -1);
  EXPECT_EQ(shuffle_of(loaded, 1, around(Vec3::cube(2))), -1);
  loaded.weights[1].bias.back() += 1;  // one voxel's own: a pixel shuffle
  EXPECT_EQ(shuffle_of(loaded, 1, around(taps)), -1);
}

TEST(ConvertOnnxWrittenTransposed, AConvolutionThatIsReadTwiceStays) {
  LoadedNetwork loaded = transposed(Vec3::cube(2), Vec3::cube(2));
  loaded.network.nodes[3].inputs = {2};
  EXPECT_EQ(shuffle_of(loaded, 1, around(Vec3::cube(2))), -1);
}

TEST(ConvertOnnxWrittenTransposed, TapsAreInTheOrderOfTheFile) {
  OnnxMessage message("net", 1, 17);
  const Node node{"up", Convolution{2, {1, 1, 2}, Vec3::cube(1), {}}, {0}};
  const NodeWeights weights{{1, 2, 3, 4}, {}, {}, {}};  // of the first voxel, then of the second: the later tap first
  write_transposed({node, weights, {}, {}, {}, {"x"}, 1, "y"}, {1, 1, 2}, message);
  const onnx::GraphProto graph = message.take().graph();
  const std::string& raw = graph.initializer(0).raw_data();
  std::vector<float> kernels(4);
  ASSERT_EQ(raw.size(), sizeof(float) * kernels.size());
  std::copy(raw.begin(), raw.end(), reinterpret_cast<char*>(kernels.data()));
  EXPECT_EQ(kernels, (std::vector<float>{2, 4, 1, 3}));
  EXPECT_EQ(graph.node(0).output(0), "y");
}

}  // namespace
}  // namespace znni
