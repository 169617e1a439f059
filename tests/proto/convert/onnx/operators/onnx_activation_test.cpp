#include "proto/convert/onnx/operators/onnx_activation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;
using testing::IsEmpty;

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
                                                      {"Elu", {ActivationKind::elu, 1.0F}},
                                                      {"Softplus", {ActivationKind::softplus}},
                                                      {"HardSwish", {ActivationKind::hard_swish}},
                                                      {"Mish", {ActivationKind::mish}},
                                                      {"Gelu", {ActivationKind::gelu}},
                                                      {"Swish", {ActivationKind::silu}}};
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

TEST(OnnxActivation, GeluIsExactOrByTanh) {
  const std::pair<const char*, ActivationKind> kinds[] = {{"none", ActivationKind::gelu},
                                                          {"tanh", ActivationKind::gelu_tanh}};
  for (const auto& [approximate, kind] : kinds) {
    OnnxModel model;
    test::set_text(model.node("Gelu", {"in"}, {"out"}), "approximate", approximate);
    EXPECT_EQ(only_operation(model.output("out")), Operation(Activate{{kind}}));
  }
  OnnxModel other;
  test::set_text(other.node("Gelu", {"in"}, {"out"}), "approximate", "sigmoid");
  EXPECT_THAT(other.output("out").refusal(), HasSubstr("approximate = 'sigmoid' is not supported"));
}

TEST(OnnxActivation, SwishOfAnotherAlphaIsRefused) {
  OnnxModel model;
  test::set_real(model.node("Swish", {"in"}, {"out"}), "alpha", 1.5F);
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("alpha = 1.500000 is not supported; only 1"));
}

TEST(OnnxActivation, SeluIsAScaledElu) {
  OnnxModel standard(2);
  standard.node("Selu", {"in"}, {"out"});
  standard.output("out");
  EXPECT_FLOAT_EQ(static_cast<float>(standard.value_of(2)), 2 * 1.05070098F);
  EXPECT_FLOAT_EQ(static_cast<float>(standard.value_of(-2)), 1.05070098F * 1.67326324F * std::expm1(-2.0F));
  EXPECT_EQ(standard.read().weights.back().scale.size(), 2U);
  OnnxModel other;
  onnx::NodeProto& node = other.node("Selu", {"in"}, {"out"});
  test::set_real(node, "alpha", 0.5F);
  test::set_real(node, "gamma", 3);
  other.output("out");
  EXPECT_DOUBLE_EQ(other.value_of(-1), 1.5 * std::expm1(-1.0));
}

TEST(OnnxActivation, PReluOfOneSlopeIsALeakyRelu) {
  OnnxModel model(3);
  model.tensor("slope", {3, 1, 1, 1}, {0.25F, 0.25F, 0.25F});
  model.node("PRelu", {"in", "slope"}, {"out"});
  EXPECT_EQ(only_operation(model.output("out")), Operation(Activate{{ActivationKind::leaky_relu, 0.25F}}));
  OnnxModel computed(1);
  computed.node("PRelu", {"in", "in"}, {"out"});
  EXPECT_THAT(computed.output("out").refusal(), HasSubstr("its slopes are computed"));
}

TEST(OnnxActivation, PReluOfSeveralSlopesKeepsThem) {
  OnnxModel model(3);
  model.tensor("slope", {3, 1, 1, 1}, {0.25F, 0.5F, -2.0F});
  model.node("PRelu", {"in", "slope"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  EXPECT_EQ(only_operation(model), Operation(PRelu{}));
  EXPECT_EQ(loaded.weights[0].scale, (std::vector<float>{0.25F, 0.5F, -2.0F}));
  EXPECT_THAT(loaded.weights[0].shift, IsEmpty());
  OnnxModel few(3);
  few.tensor("slope", {2, 1, 1, 1}, {0.25F, 0.5F});
  few.node("PRelu", {"in", "slope"}, {"out"});
  EXPECT_THAT(few.output("out").refusal(), HasSubstr("neither one number nor one per channel (3)"));
  OnnxModel along_x(3);
  along_x.tensor("slope", {3}, {0.25F, 0.25F, 0.25F});
  along_x.node("PRelu", {"in", "slope"}, {"out"});
  EXPECT_THAT(along_x.output("out").refusal(), HasSubstr("neither one number nor one per channel (3)"));
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

}  // namespace
}  // namespace znni
