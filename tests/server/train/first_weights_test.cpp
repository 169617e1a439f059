#include "server/train/first_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primitives/core/shape.hpp"
#include "proto/convert/onnx/writer/onnx_writer.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr std::string_view two_layers =
    "name: 'small' node { conv { f_out: 4 k: 3 activation: relu } } node { conv { f_out: 1 k: 1 } }";

class FirstWeightsTest : public testing::Test {
 protected:
  [[nodiscard]] std::string write(const std::string& name, std::string_view text) const {
    return folder_.write(name, text).string();
  }
  static FirstNetwork read(const std::string& path, std::uint64_t seed) {
    Result<FirstNetwork> first = read_first_network(path, seed, saturated);
    EXPECT_TRUE(first) << (first ? "" : first.error().message);
    return first ? *std::move(first) : FirstNetwork{};
  }
  [[nodiscard]] std::string refusal(const std::string& name, std::string_view text) const {
    const Result<FirstNetwork> first = read_first_network(write(name, text), 1, 100);
    EXPECT_FALSE(first);
    return first ? "" : first.error().message;
  }

  test::TemporaryDirectory folder_;
};

TEST_F(FirstWeightsTest, TextsGetSeededKernelsAndBiasesOfZero) {
  const std::string path = write("net.pbtxt", two_layers);
  const FirstNetwork first = read(path, 7);
  ASSERT_TRUE(check_weights(first.loaded.network, first.loaded.weights));
  EXPECT_EQ(first.loaded.weights[0].kernels, random_weights(first.loaded.network, 7)[0].kernels);
  EXPECT_THAT(first.loaded.weights[0].bias, Each(0));
  EXPECT_EQ(first.note, "weights by He, of seed 7");
  EXPECT_NE(read(path, 8).loaded.weights[0].kernels, first.loaded.weights[0].kernels);
}

// A slope of 1 would make no rectifier. Scales are those of normalisations.
TEST_F(FirstWeightsTest, SlopesAndScalesAreThoseOfPyTorch) {
  const FirstNetwork first = read(write("net.pbtxt",
                                        "node { conv { f_out: 4 k: 3 } } node { prelu {} } node { scale_shift {} } "
                                        "node { prelu {} } node { conv { f_out: 1 k: 1 } }"),
                                  7);
  ASSERT_EQ(first.loaded.network.nodes.size(), 5U);
  EXPECT_EQ(first.loaded.weights[1].scale, std::vector<float>(4, 0.25F));
  EXPECT_EQ(first.loaded.weights[2].scale, std::vector<float>(4, 1.0F));
}

TEST_F(FirstWeightsTest, ModelsHaveTheirOwn) {
  const FirstNetwork text = read(write("net.pbtxt", two_layers), 7);
  const std::string path = (folder_.path() / "model.onnx").string();
  ASSERT_TRUE(write_onnx_file(text.loaded, path));
  const FirstNetwork model = read(path, 8);
  EXPECT_EQ(model.note, "weights of " + path);
  ASSERT_EQ(model.loaded.network.nodes.size(), 3U);  // the ReLU is a node of its own
  EXPECT_EQ(model.loaded.weights[0].kernels, text.loaded.weights[0].kernels);
}

TEST_F(FirstWeightsTest, NormalisationsAreFolded) {
  const FirstNetwork first = read(
      write("net.pbtxt", "node { conv { f_out: 4 k: 3 } } node { scale_shift {} } node { conv { f_out: 1 k: 1 } }"), 7);
  EXPECT_EQ(first.loaded.network.nodes.size(), 2U);
  EXPECT_THAT(first.note, HasSubstr("; 1 batch normalisations are folded"));
}

TEST_F(FirstWeightsTest, WhatCannotBeTrainedIsRefused) {
  EXPECT_THAT(refusal("net.txt", ""), HasSubstr("net.txt: .onnx or .pbtxt is right for a network"));
  EXPECT_THAT(refusal("net.pbtxt", "node { conf {} }"), HasSubstr("net.pbtxt: line 1"));
  EXPECT_THAT(refusal("net.pbtxt", two_layers), HasSubstr("net.pbtxt: the weights take "));
  EXPECT_THAT(refusal("net.pbtxt",
                      "node { name: 'a' conv { f_out: 2 k: 1 } }"
                      "output { name: 'x' channels: 1 } output { name: 'y' channels: 1 }"),
              HasSubstr("the network has 1 inputs and 2 outputs; "));
}

}  // namespace
}  // namespace znni
