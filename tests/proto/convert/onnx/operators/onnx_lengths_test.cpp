#include "proto/convert/onnx/operators/onnx_lengths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

const Operation unit = AcrossChannels{AcrossKind::unit, std::numeric_limits<float>::min()};

// Returns a model of an LpNormalization, between two Transposes if `is_last`.
OnnxModel model_of(std::int64_t axis, std::int64_t power, bool is_last) {
  OnnxModel model(2, 3, 17);
  if (is_last) test::set_integers(model.node("Transpose", {"in"}, {"t"}), "perm", {0, 2, 3, 4, 1});
  onnx::NodeProto& node = model.node("LpNormalization", {is_last ? "t" : "in"}, {"n"});
  test::set_integer(node, "axis", axis);
  test::set_integer(node, "p", power);
  if (is_last) test::set_integers(model.node("Transpose", {"n"}, {"out"}), "perm", {0, 4, 1, 2, 3});
  return model.output(is_last ? "out" : "n");
}

TEST(OnnxLengths, LpNormalizationOfChannelsIsUnitLength) {
  for (const std::int64_t axis : {1, -4}) {
    EXPECT_EQ(model_of(axis, 2, false).read().network.nodes, (std::vector<Node>{{"/n", unit, {0}}}));
  }
  for (const std::int64_t axis : {4, -1}) {
    EXPECT_EQ(model_of(axis, 2, true).read().network.nodes, (std::vector<Node>{{"/n", unit, {0}}}));
  }
}

TEST(OnnxLengths, OtherLpNormalizationsAreRefused) {
  EXPECT_THAT(model_of(1, 1, false).refusal(), HasSubstr("p = 1 is not supported; only 2"));
  EXPECT_THAT(model_of(2, 2, false).refusal(), HasSubstr("along axis = 2 is not supported; only along the channels"));
  EXPECT_THAT(model_of(1, 2, true).refusal(), HasSubstr("along axis = 1 is not supported"));
  EXPECT_THAT(model_of(9, 2, false).refusal(), HasSubstr("along axis = 9 is not supported"));
}

}  // namespace
}  // namespace znni
