#include "proto/convert/onnx_activation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

Operation only_operation(const OnnxModel& model) {
  const LoadedNetwork loaded = model.read();
  EXPECT_EQ(loaded.network.nodes.size(), 1U);
  return loaded.network.nodes.empty() ? Operation(Concat{}) : loaded.network.nodes[0].operation;
}

TEST(OnnxActivation, EachKind) {
  const std::pair<const char*, Activation> kinds[] = {{"Relu", {ActivationKind::relu}},
                                                      {"Sigmoid", {ActivationKind::sigmoid}},
                                                      {"Tanh", {ActivationKind::tanh}},
                                                      {"LeakyRelu", {ActivationKind::leaky_relu, 0.01F}},
                                                      {"Elu", {ActivationKind::elu, 1.0F}}};
  for (const auto& [operation, activation] : kinds) {
    OnnxModel model;
    model.node(operation, {"in"}, {"out"});
    EXPECT_EQ(only_operation(model.output("out")), Operation(Activate{activation})) << operation;
  }
}

TEST(OnnxActivation, AlphaIsRead) {
  for (const auto& [operation, kind] :
       {std::pair{"LeakyRelu", ActivationKind::leaky_relu}, std::pair{"Elu", ActivationKind::elu}}) {
    OnnxModel model;
    test::set_real(model.node(operation, {"in"}, {"out"}), "alpha", 0.25F);
    EXPECT_EQ(only_operation(model.output("out")), Operation(Activate{{kind, 0.25F}}));
  }
}

TEST(OnnxActivation, AlphaOfAnotherTypeIsAnError) {
  OnnxModel model;
  test::set_integer(model.node("Elu", {"in"}, {"out"}), "alpha", 1);
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("attribute 'alpha' has type INT; FLOAT is right"));
}

TEST(OnnxActivation, AlphaMustBeFinite) {
  OnnxModel model;
  test::set_real(model.node("Elu", {"in"}, {"out"}), "alpha", std::numeric_limits<float>::infinity());
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("not finite"));
}

std::string softmax_refusal(std::int64_t opset, int axes, std::optional<std::int64_t> axis) {
  OnnxModel model(2, axes, opset);
  onnx::NodeProto& node = model.node("Softmax", {"in"}, {"out"});
  if (axis) test::set_integer(node, "axis", *axis);
  return model.output("out").refusal();
}

TEST(OnnxActivation, SoftmaxOverImages) {
  OnnxModel model(3);
  test::set_integer(model.node("Softmax", {"in"}, {"out"}), "axis", 1);
  EXPECT_EQ(only_operation(model.output("out")), Operation(Softmax{}));
  EXPECT_EQ(softmax_refusal(13, 3, -4), "");
  EXPECT_EQ(softmax_refusal(13, 2, -3), "");
}

TEST(OnnxActivation, SoftmaxOverAnythingElseIsRefused) {
  EXPECT_THAT(softmax_refusal(13, 3, 4), HasSubstr("axis = 4 is not supported; only 1, the images"));
  EXPECT_THAT(softmax_refusal(13, 3, std::nullopt), HasSubstr("axis = -1 is not supported"));
  EXPECT_THAT(softmax_refusal(13, 3, -3), HasSubstr("axis = -3 is not supported"));
}

TEST(OnnxActivation, SoftmaxThatFlattensIsRefused) {
  EXPECT_THAT(softmax_refusal(12, 3, 1), HasSubstr("flattens its axes in operator set 12"));
  EXPECT_THAT(softmax_refusal(7, 3, std::nullopt), HasSubstr("export with operator set 13 or newer"));
}

}  // namespace
}  // namespace znni
