#include "proto/convert/onnx/operators/onnx_clip.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity();

// Bounds as inputs; infinite ones are left out.
OnnxModel clip(float least, float most) {
  OnnxModel model(2);
  if (least > -infinity) model.tensor("least", {}, {least});
  if (most < infinity) model.tensor("most", {}, {most});
  model.node("Clip", {"in", least > -infinity ? "least" : "", most < infinity ? "most" : ""}, {"out"});
  model.output("out");
  return model;
}

Operation only_operation(const OnnxModel& model) {
  const LoadedNetwork loaded = model.read();
  EXPECT_EQ(loaded.network.nodes.size(), 1U);
  return loaded.network.nodes.empty() ? Operation(Concat{}) : loaded.network.nodes[0].operation;
}

TEST(OnnxClip, BoundsOfReluNeedNoShift) {
  EXPECT_EQ(only_operation(clip(0, 6)), Operation(Activate{{ActivationKind::capped_relu, 6}}));
  EXPECT_EQ(only_operation(clip(0, infinity)), Operation(Activate{{ActivationKind::relu}}));
}

TEST(OnnxClip, GivesWhatTheOperatorIsDefinedToGive) {
  for (const auto& [least, most] :
       {std::pair{0.0F, 6.0F}, std::pair{-1.0F, 1.0F}, std::pair{0.5F, 2.25F}, std::pair{-3.0F, infinity},
        std::pair{-infinity, 1.5F}, std::pair{2.0F, 2.0F}, std::pair{-3.0F, -1.0F}, std::pair{-2.0F, 0.0F},
        std::pair{-infinity, -1.0F}, std::pair{1.5F, infinity}}) {
    const OnnxModel model = clip(least, most);
    for (int i = -40; i <= 40; ++i) {
      const double x = i * 0.25;
      EXPECT_DOUBLE_EQ(model.value_of(x), std::clamp<double>(x, least, most)) << least << " to " << most << ": " << x;
    }
    EXPECT_EQ(model.read().network.nodes.back().name.substr(0, 4), "/out");
  }
}

// Shifting by such bounds would round every value.
TEST(OnnxClip, WideBoundsChangeNothingBetweenThem) {
  for (const auto& [least, most] : {std::pair{-65504.0F, 65504.0F}, std::pair{-1e9F, infinity},
                                    std::pair{-infinity, 1e9F}, std::pair{-3e38F, 3e38F}}) {
    const LoadedNetwork loaded = clip(least, most).read();
    for (const NodeWeights& weights : loaded.weights) {
      for (const float scale : weights.scale) EXPECT_EQ(scale, -1.0F);
      for (const float shift : weights.shift) EXPECT_EQ(shift, 0.0F);
    }
    for (const double x : {-2e9, -1e-3, 0.0, 1e-3, 7e4, 2e9}) {
      EXPECT_EQ(clip(least, most).value_of(x), std::clamp<double>(x, least, most));
    }
  }
}

TEST(OnnxClip, WithoutBoundsDoesNothing) {
  OnnxModel model;
  model.tensor("least", {}, {-std::numeric_limits<float>::max()});
  model.tensor("most", {}, {infinity});
  model.node("Clip", {"in", "least", "most"}, {"a"});
  model.node("Clip", {"a"}, {"b"});
  model.node("Tanh", {"b"}, {"out"});
  EXPECT_EQ(only_operation(model.output("out")), Operation(Activate{{ActivationKind::tanh}}));
}

TEST(OnnxClip, BoundsAreAttributesOfOlderOperatorSets) {
  OnnxModel model(1, 3, 10);
  onnx::NodeProto& node = model.node("Clip", {"in"}, {"out"});
  test::set_real(node, "min", 0);
  test::set_real(node, "max", 6);
  EXPECT_EQ(only_operation(model.output("out")), Operation(Activate{{ActivationKind::capped_relu, 6}}));
}

TEST(OnnxClip, RefusesOtherBounds) {
  EXPECT_THAT(clip(2, 1).refusal(), HasSubstr("min must not be above max"));
  OnnxModel computed;
  computed.node("Relu", {"in"}, {"r"});
  computed.node("Clip", {"in", "r"}, {"out"});
  EXPECT_THAT(computed.output("out").refusal(), HasSubstr("its bound 'r' is computed; only constants are supported"));
  OnnxModel several;
  several.tensor("least", {2}, {0, 0});
  several.node("Clip", {"in", "least"}, {"out"});
  EXPECT_THAT(several.output("out").refusal(), HasSubstr("its bound 'least' has 2 elements; 1 is right"));
}

TEST(OnnxHardSigmoid, IsALineBetweenBounds) {
  OnnxModel standard(3);
  standard.node("HardSigmoid", {"in"}, {"out"});
  standard.output("out");
  OnnxModel given(3);
  onnx::NodeProto& node = given.node("HardSigmoid", {"in"}, {"out"});
  test::set_real(node, "alpha", 0.5F);
  test::set_real(node, "beta", 0.25F);
  given.output("out");
  for (int i = -40; i <= 40; ++i) {
    const double x = i * 0.25;
    EXPECT_NEAR(standard.value_of(x), std::clamp(0.2 * x + 0.5, 0.0, 1.0), 1e-7);
    EXPECT_DOUBLE_EQ(given.value_of(x), std::clamp(0.5 * x + 0.25, 0.0, 1.0));
  }
}

}  // namespace
}  // namespace znni
