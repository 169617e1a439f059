#include "proto/convert/onnx/tokens/onnx_laid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/tokens/token_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using test::token_model;
using test::with_voxels;
using testing::ElementsAre;
using testing::HasSubstr;

// Adds a linear layer to `f_out` channels, of whose matrix row i has numbers from 10 i on, and its bias.
void add_linear(OnnxModel& model, std::int64_t f, std::int64_t f_out) {
  std::vector<float> matrix;
  std::vector<float> bias;
  for (std::int64_t i = 0; i < f * f_out; ++i) matrix.push_back(static_cast<float>(i / f_out * 10 + i % f_out));
  for (std::int64_t i = 0; i < f_out; ++i) bias.push_back(static_cast<float>(100 + i));
  model.tensor("w", {f, f_out}, matrix);
  model.tensor("b", {f_out}, bias);
  model.node("MatMul", {"t", "w"}, {"m"});
  model.node("Add", {"m", "b"}, {"l"});
}

// Channels 2 and 3 of a linear layer and its bias: these rows alone are computed.
TEST(OnnxLaid, PartsOfLinearLayersAreLinearLayers) {
  OnnxModel model = token_model(2);
  add_linear(model, 2, 4);
  test::set_integer(model.node("Split", {"l"}, {"first", "second"}), "axis", -1);
  model.node("Relu", {"second"}, {"r"});
  const LoadedNetwork loaded = with_voxels(model, "r", 2).read();
  ASSERT_EQ(loaded.network.nodes.size(), 4U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(Convolution{2, Vec3::cube(1), Vec3::cube(1), {}}));
  EXPECT_THAT(loaded.weights[1].kernels, ElementsAre(2, 12, 3, 13));
  EXPECT_EQ(loaded.network.nodes[2].operation, Operation(ScaleShift{}));
  EXPECT_THAT(loaded.weights[2].shift, ElementsAre(102, 103));
}

// Others are copied out.
TEST(OnnxLaid, PartsOfOtherLayersAreCopied) {
  OnnxModel model = token_model(4);
  test::set_integer(model.node("Split", {"t"}, {"first", "second"}), "axis", 2);
  model.node("Sigmoid", {"second"}, {"s"});
  const LoadedNetwork loaded = with_voxels(model, "s", 2).read();
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(Convolution{2, Vec3::cube(1), Vec3::cube(1), {}}));
  EXPECT_THAT(loaded.weights[1].kernels, ElementsAre(0, 0, 1, 0, 0, 0, 0, 1));
}

TEST(OnnxLaid, OpenExtentsAreRefused) {
  OnnxModel model(2, 3, 17);
  model.integers("tokens", {1, 24, 2});
  test::set_integers(model.node("Transpose", {"in"}, {"t"}), "perm", {0, 2, 3, 4, 1});
  model.node("Reshape", {"t", "tokens"}, {"r"});
  EXPECT_THAT(model.output("r").refusal(), HasSubstr("node '/r' (Reshape): "));
}

}  // namespace
}  // namespace znni
