#include "proto/convert/onnx/operators/onnx_shuffle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t extent = 12;

// Pools by 2 along z and x, convolves to 8 channels, and shuffles those to 2 of 2x1x2 as many voxels.
struct Shuffle {
  std::vector<std::int64_t> split = {1, 2, 2, 1, 2, extent / 2, extent, extent / 2};
  std::vector<std::int64_t> perm = {0, 1, 5, 2, 6, 3, 7, 4};
  std::vector<std::int64_t> joined = {1, 2, extent, extent, extent};

  OnnxModel model() const {
    OnnxModel model(1);
    onnx::TensorShapeProto& shape =
        *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int axis = 2; axis < 5; ++axis) shape.mutable_dim(axis)->set_dim_value(extent);
    onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"low"});
    test::set_integers(pool, "kernel_shape", {2, 1, 2});
    test::set_integers(pool, "strides", {2, 1, 2});
    model.conv("low", "many", 1, 8, {1, 1, 1});
    model.integers("split", split);
    model.integers("joined", joined);
    model.node("Reshape", {"many", "split"}, {"parts"});
    test::set_integers(model.node("Transpose", {"parts"}, {"beside"}), "perm", perm);
    model.node("Reshape", {"beside", "joined"}, {"out"});
    return std::move(model.output("out"));
  }
};

TEST(OnnxShuffle, ChannelsBecomeVoxels) {
  const LoadedNetwork loaded = Shuffle{}.model().read();
  ASSERT_EQ(loaded.network.nodes.size(), 4U);
  EXPECT_EQ(loaded.network.nodes[3].operation, Operation(Upsample{{2, 1, 2}, UpsampleKind::shuffle}));
  EXPECT_EQ(channels_of(loaded.network).back(), 2);
  std::vector<std::int64_t> order;
  for (std::size_t to = 0; to < 8; ++to) {
    const auto row = loaded.weights[2].kernels.begin() + static_cast<std::ptrdiff_t>(8 * to);
    EXPECT_EQ(std::count(row, row + 8, 1.0F), 1);
    EXPECT_EQ(std::count(row, row + 8, 0.0F), 7);
    order.push_back(std::find(row, row + 8, 1.0F) - row);
  }
  EXPECT_THAT(order, ElementsAre(0, 4, 1, 5, 2, 6, 3, 7)) << "parts of a channel stand together in the file";
}

TEST(OnnxShuffle, OneExtentMayBeLeftOpen) {
  Shuffle shuffle;
  shuffle.split[1] = -1;
  shuffle.joined[3] = -1;
  EXPECT_EQ(shuffle.model().refusal(), "");
}

TEST(OnnxShuffle, OfOneChannelNothingIsReordered) {
  Shuffle shuffle;
  shuffle.split = {1, 1, 4, 1, 2, extent / 2, extent, extent / 2};
  shuffle.joined = {1, 1, 2 * extent, extent, extent};
  EXPECT_THAT(shuffle.model().refusal(), HasSubstr("an output finer than the input"));
}

TEST(OnnxShuffle, OtherOrdersAreRefused) {
  Shuffle other;
  other.perm = {0, 1, 2, 5, 6, 3, 7, 4};
  EXPECT_THAT(other.model().refusal(), HasSubstr("in this order is not supported; only to [N, channels, factors"));
  Shuffle missing;
  missing.joined = {1, 4, extent / 2, extent, extent};
  EXPECT_THAT(missing.model().refusal(), HasSubstr("of voxels of channels to [1, 4, 6, 12, 12]"));
  Shuffle odd;
  odd.split[2] = 3;
  EXPECT_THAT(odd.model().refusal(), HasSubstr("of [1, 8, 6, 12, 6] to [1, 2, 3, 1, 2, 6, 12, 6] is not supported"));
  OnnxModel read = Shuffle{}.model();
  onnx::NodeProto& last = *read.proto.mutable_graph()->mutable_node(4);
  last.set_op_type("Relu");
  last.mutable_input()->RemoveLast();
  EXPECT_THAT(read.refusal(), HasSubstr("is reshaped into voxels of channels"));
}

// The same of two axes in one node; DCR has the channels part by part, as the network does.
TEST(OnnxShuffle, DepthToSpace) {
  const auto model = [](const char* mode, std::int64_t size) {
    OnnxModel made(1, 2);
    onnx::NodeProto& pool = made.node("MaxPool", {"in"}, {"low"});
    test::set_integers(pool, "kernel_shape", {2, 2});
    test::set_integers(pool, "strides", {2, 2});
    made.conv("low", "many", 1, 8, {1, 1});
    onnx::NodeProto& node = made.node("DepthToSpace", {"many"}, {"out"});
    test::set_text(node, "mode", mode);
    test::set_integer(node, "blocksize", size);
    return std::move(made.output("out"));
  };
  EXPECT_EQ(model("DCR", 2).read().network.nodes.size(), 3U);
  EXPECT_EQ(model("CRD", 2).read().network.nodes.size(), 4U);
  EXPECT_THAT(model("CRD", 3).refusal(), HasSubstr("blocksize = 3 and mode = 'CRD' for 8 channels; DCR or CRD"));
  EXPECT_THAT(model("RDC", 2).refusal(), HasSubstr("mode = 'RDC'"));
}

}  // namespace
}  // namespace znni
