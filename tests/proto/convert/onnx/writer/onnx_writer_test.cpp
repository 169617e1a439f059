// Networks that are written read back as the same networks.
#include "proto/convert/onnx/writer/onnx_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "planner/network/padding.hpp"
#include "planner/network/unfused.hpp"
#include "tests/planner/dense_net.hpp"
#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::Integers;
using test::OnnxModel;
using test::Random;
using test::set_integer;
using test::set_integers;
using test::set_text;
using testing::HasSubstr;

void expect_equal_weights(const NetworkWeights& found, const NetworkWeights& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].kernels, wanted[i].kernels) << i;
    EXPECT_EQ(found[i].bias, wanted[i].bias) << i;
    EXPECT_EQ(found[i].scale, wanted[i].scale) << i;
    EXPECT_EQ(found[i].shift, wanted[i].shift) << i;
  }
}

// Returns the network as files have it: nothing fused, no crops of nothing, and no alpha of activations that take none.
LoadedNetwork as_in_a_file(const LoadedNetwork& loaded) {
  LoadedNetwork plain = unfused(loaded);
  for (int number = static_cast<int>(plain.network.nodes.size()) - 1; number >= 0; --number) {
    const auto* crop = std::get_if<Crop>(&plain.network.nodes[static_cast<std::size_t>(number)].operation);
    if (crop != nullptr && *crop == Crop{} && plain.network.frame == Border{}) remove_node(plain, number);
  }
  for (std::size_t i = 0; i < plain.network.nodes.size(); ++i) {
    const std::vector<float>& slopes = plain.weights[i].scale;
    if (!std::holds_alternative<PRelu>(plain.network.nodes[i].operation) || slopes.size() != 1) continue;
    plain.network.nodes[i].operation = Activate{{ActivationKind::leaky_relu, slopes.front()}};
    plain.weights[i] = {};
  }
  for (Node& node : plain.network.nodes) {
    auto* activate = std::get_if<Activate>(&node.operation);
    if (activate != nullptr && !takes_alpha(activate->activation.kind)) activate->activation.alpha = 0;
  }
  return plain;
}

// Writes the network and reads it back.
void expect_kept(const LoadedNetwork& loaded) {
  const Result<onnx::ModelProto> model = onnx_of(loaded);
  ASSERT_TRUE(model) << model.error().message;
  const Result<LoadedNetwork> again = read_onnx(*model);
  ASSERT_TRUE(again) << again.error().message;
  const LoadedNetwork plain = as_in_a_file(loaded);
  EXPECT_EQ(describe(again->network), describe(plain.network));
  EXPECT_EQ(again->network, plain.network);
  expect_equal_weights(again->weights, plain.weights);
}

LoadedNetwork with_weights(const Network& network, std::uint64_t seed = 1) {
  return {network, random_weights(network, seed)};
}

Network network_of(std::vector<Node> nodes, std::int64_t f_in = 2) {
  Network network;
  network.name = "net";
  network.f_in = f_in;
  network.nodes = std::move(nodes);
  return network;
}

Convolution conv(std::int64_t f_out, Vec3 k = Vec3::cube(1)) { return {f_out, k, Vec3::cube(1), {}}; }

std::string refusal(const LoadedNetwork& loaded) {
  const Result<onnx::ModelProto> model = onnx_of(loaded);
  return model ? "" : std::string(to_string(model.error().code)) + ": " + model.error().message;
}

TEST(ConvertOnnxWriter, ANetOfAFileIsKept) {
  const LoadedNetwork loaded = test::rich_model().read();
  expect_kept(loaded);
  const Result<onnx::ModelProto> model = onnx_of(loaded);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->graph().name(), "net");
  EXPECT_EQ(model->graph().input(0).name(), "in");
  EXPECT_EQ(model->graph().output(0).name(), "out");
  EXPECT_EQ(model->opset_import(0).version(), 17);
}

TEST(ConvertOnnxWriter, EveryActivationIsKept) {
  for (int kind = 1; kind <= static_cast<int>(last_activation_kind); ++kind) {
    const Activation activation{static_cast<ActivationKind>(kind), 0.75F};
    SCOPED_TRACE(kind);
    expect_kept(with_weights(network_of({{"conv", Convolution{2, Vec3::cube(2), Vec3::cube(1), activation}, {0}}})));
    expect_kept(with_weights(network_of({{"alone", Activate{activation}, {0}}, {"last", Activate{activation}, {1}}})));
  }
}

TEST(ConvertOnnxWriter, SlopesOfChannelsAreKept) {
  for (const int rank : {1, 2, 3}) {
    Network network = network_of({{"slopes", PRelu{}, {0}}});
    network.spatial_rank = rank;
    expect_kept(with_weights(network));
  }
}

TEST(ConvertOnnxWriter, OperationsOverChannelsAreKept) {
  for (const AcrossKind kind : {AcrossKind::softmax, AcrossKind::log_softmax, AcrossKind::arg_max,
                                AcrossKind::arg_max_last, AcrossKind::norm}) {
    SCOPED_TRACE(to_string(kind));
    expect_kept(with_weights(network_of({{"across", AcrossChannels{kind}, {0}}})));
  }
  expect_kept(with_weights(network_of({{"norm", AcrossChannels{AcrossKind::norm, 1e-3F}, {0}},
                                       {"mish", Activate{{ActivationKind::mish, 0}}, {1}},
                                       {"conv", conv(3), {2}}})));
}

TEST(ConvertOnnxWriter, DilationsStridesGroupsAndAnisotropyAreKept) {
  Network network = network_of({{"a", Convolution{6, {1, 2, 3}, {1, 3, 2}, {}, Vec3::cube(1), 2}, {0}},
                                {"p", Pooling{PoolKind::average, {1, 2, 3}, {1, 2, 2}}, {1}},
                                {"q", Pooling{PoolKind::max, {2, 2, 2}, {2, 2, 2}}, {2}},
                                {"c", Crop{{0, 1, 0}, {1, 0, 0}}, {3}},
                                {"s", ScaleShift{}, {4}}});
  expect_kept(with_weights(network));
  LoadedNetwork without_bias = with_weights(network);
  without_bias.weights[0].bias.clear();
  expect_kept(without_bias);
}

TEST(ConvertOnnxWriter, ResidualsBecomeSumsBehindTheirConvolution) {
  const Convolution own{2, Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0}};
  const Network network = network_of({{"first", own, {0}}, {"second", own, {1, 0}}, {"last", own, {2}}});
  const LoadedNetwork loaded = with_weights(network);
  expect_kept(loaded);
  const Result<onnx::ModelProto> model = onnx_of(loaded);
  ASSERT_TRUE(model);
  const Result<LoadedNetwork> again = read_onnx(*model);
  ASSERT_TRUE(again);
  const LoadedNetwork fused = fold_and_fuse(*again);
  EXPECT_EQ(describe(fused.network), describe(network));
  expect_equal_weights(fused.weights, loaded.weights);
}

TEST(ConvertOnnxWriter, StacksAreWrittenAsTheirNodes) {
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  const Pooling max{PoolKind::max, Vec3::cube(3), Vec3::cube(1)};
  const Network network = network_of({{"p", max, {0}},
                                      {"s", ScaleShift{}, {1}},
                                      {"a", Activate{{ActivationKind::relu, 0}}, {2}},
                                      {"q", Pooling{PoolKind::average, Vec3::cube(3), Vec3::cube(1)}, {3}},
                                      {"t", ScaleShift{}, {4}},
                                      {"c", conv(2, Vec3::cube(3)), {5}},
                                      {"r", max, {6}},
                                      {"b", Activate{{ActivationKind::relu, 0}}, {7}}});
  for (const std::vector<Border>& pads :
       {std::vector<Border>(8), std::vector<Border>{one, {}, {}, one, {}, one, one, {}}}) {
    const LoadedNetwork loaded = with_weights(network);
    const LoadedNetwork stacked = fold_and_fuse(without_padding(loaded, pads).value());
    EXPECT_EQ(stacked.network.nodes.size(), 3U);
    expect_kept(stacked);
  }
}

TEST(ConvertOnnxWriter, NetsOfFewerAxesAreKept) {
  for (const int rank : {1, 2}) {
    Network network = network_of(
        {{"a", conv(3, {1, rank == 1 ? 1 : 2, 3}), {0}}, {"p", Pooling{PoolKind::max, {1, 1, 2}, {1, 1, 2}}, {1}}});
    network.spatial_rank = rank;
    expect_kept(with_weights(network));
  }
}

TEST(ConvertOnnxWriter, NormalisationsAndPoolingsOfAllVoxelsAreKept) {
  Network network = network_of({{"a", conv(4, Vec3::cube(3)), {0}},
                                {"each", Norm{4, 1e-3F, {ActivationKind::relu, 0}}, {1}},
                                {"groups", Norm{2, 1e-5F, {}}, {2}},
                                {"mean", GlobalPool{}, {3}},
                                {"gate", Activate{{ActivationKind::sigmoid, 0}}, {4}},
                                {"product", Multiply{}, {3, 5}},
                                {"last", conv(2), {6}}});
  expect_kept(with_weights(network));
  network.window = {8, 9, 10};
  expect_kept(with_weights(network));
}

TEST(ConvertOnnxWriter, QuotientsAreKept) {
  expect_kept(with_weights(network_of({{"a", conv(4, Vec3::cube(3)), {0}},
                                       {"one", conv(1, Vec3::cube(1)), {1}},
                                       {"by one", Divide{}, {1, 2}},
                                       {"by all", Divide{}, {1, 3}}})));
}

TEST(ConvertOnnxWriter, SeveralInputsAndOutputsAreKept) {
  OnnxModel model(1);
  model.input("mask", 2);
  set_integer(model.node("Concat", {"in", "mask"}, {"both"}), "axis", 1);
  model.conv("both", "a", 3, 2, {3, 3, 3});
  model.node("Sigmoid", {"a"}, {"prob"});
  model.conv("a", "b", 2, 3, {1, 1, 1});
  model.output("prob").output("b").output("a");
  expect_kept(model.read());
}

TEST(ConvertOnnxWriter, InputsThatAreCopiedAreKept) {
  OnnxModel model(1);
  model.input("mask", 1);
  model.node("Mul", {"in", "mask"}, {"both"});
  model.conv("both", "out", 1, 2, {3, 3, 3});
  model.output("out");
  expect_kept(model.read());
}

// Returns a residual U-Net that pads, upsamples by nearest neighbours and joins by channels.
OnnxModel padded_u_net(bool linear) {
  OnnxModel model(1);
  set_integers(model.conv("in", "a", 1, 4, {3, 3, 3}), "pads", Integers(6, 1));
  model.node("Relu", {"a"}, {"ra"});
  set_integers(model.conv("ra", "b", 4, 4, {3, 3, 3}), "pads", Integers(6, 1));
  model.node("Add", {"b", "ra"}, {"sum"});
  onnx::NodeProto& pool = model.node("MaxPool", {"sum"}, {"p"});
  set_integers(pool, "kernel_shape", {2, 2, 2});
  set_integers(pool, "strides", {2, 2, 2});
  set_integers(model.conv("p", "c", 4, 6, {3, 3, 3}), "pads", Integers(6, 1));
  model.tensor("scales", {5}, {1, 1, 2, 2, 2});
  onnx::NodeProto& up = model.node("Resize", {"c", "", "scales"}, {"u"});
  set_text(up, "mode", linear ? "linear" : "nearest");
  set_text(up, "coordinate_transformation_mode", linear ? "half_pixel" : "asymmetric");
  set_text(up, "nearest_mode", "floor");
  set_integer(model.node("Concat", {"u", "sum"}, {"j"}), "axis", 1);
  set_integers(model.conv("j", "d", 10, 2, {3, 3, 3}), "pads", Integers(6, 1));
  model.output("d");
  return model;
}

TEST(ConvertOnnxWriter, PaddingIsWrittenWhereTheFileHadIt) {
  for (const bool linear : {false, true}) {
    const LoadedNetwork loaded = padded_u_net(linear).read();
    ASSERT_NE(loaded.network.frame, Border{});
    expect_kept(loaded);
    const Result<onnx::ModelProto> model = onnx_of(loaded);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->graph().node_size(), padded_u_net(linear).proto.graph().node_size());
  }
}

TEST(ConvertOnnxWriter, UnequalPadsAndPadsOfPoolingsAreKept) {
  OnnxModel model(1);
  onnx::NodeProto& conv = model.conv("in", "a", 1, 2, {3, 4, 3});
  set_integers(conv, "pads", {1, 2, 0, 1, 1, 2});
  onnx::NodeProto& pool = model.node("MaxPool", {"a"}, {"p"});
  set_integers(pool, "kernel_shape", {3, 3, 3});
  set_integers(pool, "pads", Integers(6, 1));
  onnx::NodeProto& mean = model.node("AveragePool", {"p"}, {"m"});
  set_integers(mean, "kernel_shape", {3, 3, 3});
  set_integers(mean, "pads", Integers(6, 1));
  set_integer(mean, "count_include_pad", 1);
  model.output("m");
  expect_kept(model.read());
}

TEST(ConvertOnnxWriter, DilatedPoolingsAndMeansOfWhatIsInsideAreKept) {
  OnnxModel model(1);
  model.conv("in", "a", 1, 2, {3, 3, 3});
  onnx::NodeProto& pool = model.node("MaxPool", {"a"}, {"p"});
  set_integers(pool, "kernel_shape", {3, 3, 3});
  set_integers(pool, "dilations", {2, 1, 2});
  set_integers(pool, "pads", {2, 1, 2, 2, 1, 2});
  onnx::NodeProto& mean = model.node("AveragePool", {"p"}, {"m"});
  set_integers(mean, "kernel_shape", {3, 3, 3});
  set_integers(mean, "pads", Integers(6, 1));
  model.output("m");
  const LoadedNetwork loaded = model.read();
  expect_kept(loaded);
  EXPECT_EQ(onnx_of(loaded)->opset_import(0).version(), 17);
  set_integers(mean, "dilations", {2, 1, 1});
  expect_kept(model.read());
  EXPECT_EQ(onnx_of(model.read())->opset_import(0).version(), 19);
}

TEST(ConvertOnnxWriter, AnOutputWithAStrideIsNotRepeatedInTheFile) {
  OnnxModel model(1);
  onnx::NodeProto& conv = model.conv("in", "a", 1, 2, {3, 3, 3});
  set_integers(conv, "pads", Integers(6, 1));
  set_integers(conv, "strides", {2, 2, 2});
  model.conv("a", "out", 2, 1, {1, 1, 1});
  model.output("out");
  const LoadedNetwork loaded = model.read();
  ASSERT_EQ(loaded.network.output_stride, Vec3::cube(2));
  expect_kept(loaded);
}

TEST(ConvertOnnxWriter, RandomNetworksAreKept) {
  for (int i = 0; i < test::case_count(200); ++i) {
    Random random(test::base_seed() * 1000 + static_cast<std::uint64_t>(i));
    Network network = test::random_network(random);
    network.name = "net";
    for (Node& node : network.nodes) {
      auto* activate = std::get_if<Activate>(&node.operation);
      const bool is_idle = activate != nullptr && activate->activation.kind == ActivationKind::none;
      if (is_idle) activate->activation = {ActivationKind::relu, 0};  // no file says that
    }
    SCOPED_TRACE(i);
    const bool adds_many = std::any_of(network.nodes.begin(), network.nodes.end(), [](const Node& node) {
      return std::holds_alternative<Add>(node.operation) && node.inputs.size() > 2;
    });
    if (adds_many) {
      EXPECT_THAT(refusal(with_weights(network)), HasSubstr("which a file does in several nodes"));
    } else {
      expect_kept(with_weights(network, static_cast<std::uint64_t>(i)));
    }
  }
}

TEST(ConvertOnnxWriter, NamesThatAreTakenDoNotMatter) {
  Network network = network_of(
      {{"output", conv(2), {0}}, {"output.weight", Activate{{ActivationKind::silu, 0}}, {1}}, {"other", conv(2), {2}}});
  expect_kept(with_weights(network));
}

TEST(ConvertOnnxWriter, WhatIsNotWrittenIsRefusedByName) {
  const Convolution wide = conv(8);
  EXPECT_EQ(refusal(with_weights(network_of({{"pool", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2), true}, {0}},
                                             {"wide", wide, {1}},
                                             {"up", Upsample{Vec3::cube(2), UpsampleKind::shuffle}, {2}}}))),
            "unsupported: node up: moves channels to voxels (a pixel shuffle), which is not written");
  EXPECT_THAT(refusal(with_weights(network_of({{"idle", Activate{}, {0}}}))),
              HasSubstr("unsupported: node idle: does nothing"));
  EXPECT_THAT(refusal({network_of({{"conv", wide, {0}}}), {}}), HasSubstr("invalid_argument"));
  LoadedNetwork broken = with_weights(network_of({{"conv", wide, {0}}}));
  broken.weights[0].kernels[3] = std::nanf("");
  EXPECT_THAT(refusal(broken), HasSubstr("conv.weight"));
}

// Returns a node that copies a voxel of what the first writes outwards, or a convolution in windows of 3 that reflects
// it itself.
LoadedNetwork copying(bool reflects, bool taken_in) {
  const Vec3 cropped = Vec3::cube(reflects ? 2 : 1);
  const Border pads{cropped + Vec3::cube(1), cropped + Vec3::cube(1)};
  const Network network = network_of({{"first", conv(2), {0}},
                                      {"pad", Crop{cropped, cropped, reflects}, {1}},
                                      {"last", conv(2, Vec3::cube(taken_in ? 3 : 2)), {2}},
                                      {"end", conv(2, Vec3::cube(taken_in ? 1 : 2)), {3}}});
  return without_padding(with_weights(network), {{}, pads, {}, {}}).value();
}

TEST(ConvertOnnxWriter, PadsThatCopyVoxelsAreKept) {
  expect_kept(copying(false, false));
  expect_kept(copying(false, true));
  expect_kept(copying(true, false));
  const LoadedNetwork taken_in = copying(true, true);
  EXPECT_EQ(taken_in.network.nodes.size(), 3);
  expect_kept(taken_in);
}

// The stride leaves out the pad's last voxel if the extent is even.
TEST(ConvertOnnxWriter, PadsThatAStrideLeavesOutAreKept) {
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  Convolution strided = conv(3, Vec3::cube(3));
  strided.stride = {2, 2, 3};
  const Upsample up{strided.stride, UpsampleKind::nearest};
  Network network = network_of({{"first", conv(2, Vec3::cube(3)), {0}}, {"down", strided, {1}}, {"up", up, {2}}});
  expect_kept(without_padding(with_weights(network), {one, one, {}}).value());
  // A window of 1 leaves out voxels that are none of a pad.
  std::get<Convolution>(network.nodes[1].operation).k = Vec3::cube(1);
  expect_kept(without_padding(with_weights(network), {one, {}, {}}).value());
}

TEST(ConvertOnnxWriter, WhatWouldReadBackAsAnotherNetworkIsRefused) {
  // Without an upsampling behind it a file's pooling is dense.
  const std::string found =
      refusal(with_weights(network_of({{"pool", Pooling{PoolKind::max, Vec3::cube(1), Vec3::cube(1), true}, {0}}})));
  EXPECT_THAT(found, HasSubstr("would read back as another network"));
  EXPECT_THAT(found, HasSubstr("pool: max pool"));
}

TEST(ConvertOnnxWriter, FilesAreWrittenAndErrorsNameThem) {
  const std::string path = testing::TempDir() + "/written.onnx";
  const LoadedNetwork loaded = test::rich_model().read();
  const Result<void> written = write_onnx_file(loaded, path);
  ASSERT_TRUE(written) << written.error().message;
  const Result<LoadedNetwork> again = read_onnx_file(path, {});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->network, loaded.network);
  std::filesystem::remove(path);
  const Result<void> refused = write_onnx_file({network_of({{"idle", Activate{}, {0}}}), {{}}}, path);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::StartsWith(path + ": node idle"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace znni
