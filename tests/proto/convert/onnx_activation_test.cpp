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

TEST(OnnxActivation, PReluOfOneSlopeIsALeakyRelu) {
  OnnxModel model(3);
  model.tensor("slope", {3, 1, 1, 1}, {0.25F, 0.25F, 0.25F});
  model.node("PRelu", {"in", "slope"}, {"out"});
  EXPECT_EQ(only_operation(model.output("out")), Operation(Activate{{ActivationKind::leaky_relu, 0.25F}}));
  OnnxModel several(3);
  several.tensor("slope", {3, 1, 1, 1}, {0.25F, 0.5F, 0.25F});
  several.node("PRelu", {"in", "slope"}, {"out"});
  EXPECT_THAT(several.output("out").refusal(), HasSubstr("only one slope for all channels is supported"));
  OnnxModel computed(1);
  computed.node("PRelu", {"in", "in"}, {"out"});
  EXPECT_THAT(computed.output("out").refusal(), HasSubstr("its slopes are computed"));
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
