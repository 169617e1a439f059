#include "planner/network/named_tensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

// Writes 3 channels.
Network net(std::vector<NamedTensor> outputs) {
  Network network;
  network.nodes = {{"a", Convolution{3, Vec3::cube(2), Vec3::cube(1), {}}, {0}}};
  network.outputs = std::move(outputs);
  return network;
}

TEST(PlannerNamedTensors, OneOutputHasTheNetworksName) {
  EXPECT_EQ(named_outputs(net({})), (std::vector<NamedTensor>{{"output", 3}}));
}

TEST(PlannerNamedTensors, SeveralAreAsTheNetworkSays) {
  const std::vector<NamedTensor> two = {{"b", 1}, {"a", 2}};
  EXPECT_TRUE(check(net(two)));
  EXPECT_EQ(named_outputs(net(two)), two);
}

TEST(PlannerNamedTensors, StridesOfAllOutputsAndOfEachMultiply) {
  Network network = net({{"b", 1}, {"a", 2, {1, 2, 3}}});
  network.output_stride = {2, 2, 1};
  EXPECT_EQ(named_outputs(network), (std::vector<NamedTensor>{{"b", 1, {2, 2, 1}}, {"a", 2, {2, 4, 3}}}));
  network.outputs.clear();
  EXPECT_EQ(named_outputs(network), (std::vector<NamedTensor>{{"output", 3, {2, 2, 1}}}));
}

TEST(PlannerNamedTensors, WhatIsRefusedOfOutputs) {
  const auto refusal = [](std::vector<NamedTensor> outputs) { return check(net(std::move(outputs))).error().message; };
  EXPECT_THAT(refusal({{"a", 3}}), HasSubstr("a list of outputs has one"));
  EXPECT_THAT(refusal({{"a", 1}, {"a", 2}}), HasSubstr("output a stands twice"));
  EXPECT_THAT(refusal({{"a", 1}, {"", 2}}), HasSubstr("an output has no name"));
  EXPECT_THAT(refusal({{"a", 1}, {"b\n", 2}}), HasSubstr("control characters"));
  EXPECT_THAT(refusal({{"a", 3}, {"b", 0}}), HasSubstr("output b has no channels"));
  EXPECT_THAT(refusal({{"a", 2}, {"b", 2}}), HasSubstr("the outputs have 4 channels in all; the last node writes 3"));
}

// Reads 3 channels.
Network fed_by(std::vector<NamedTensor> inputs) {
  Network network = net({});
  network.f_in = 3;
  network.inputs = std::move(inputs);
  return network;
}

TEST(PlannerNamedTensors, OneInputHasTheNetworksName) {
  EXPECT_EQ(named_inputs(fed_by({})), (std::vector<NamedTensor>{{"input", 3}}));
}

TEST(PlannerNamedTensors, SeveralInputsAreAsTheNetworkSays) {
  const std::vector<NamedTensor> two = {{"b", 1}, {"a", 2}};
  EXPECT_TRUE(check(fed_by(two)));
  EXPECT_EQ(named_inputs(fed_by(two)), two);
}

TEST(PlannerNamedTensors, WhatIsRefusedOfInputs) {
  const auto refusal = [](std::vector<NamedTensor> inputs) { return check(fed_by(std::move(inputs))).error().message; };
  EXPECT_THAT(refusal({{"a", 3}}), HasSubstr("a list of inputs has one"));
  EXPECT_THAT(refusal({{"a", 1}, {"a", 2}}), HasSubstr("input a stands twice"));
  EXPECT_THAT(refusal({{"a", 1}, {"", 2}}), HasSubstr("an input has no name"));
  EXPECT_THAT(refusal({{"a", 3}, {"b", 0}}), HasSubstr("input b has no channels"));
  EXPECT_THAT(refusal({{"a", 2}, {"b", 2}}), HasSubstr("the inputs have 4 channels in all; f_in is 3"));
}

TEST(PlannerNamedTensors, NamesArePrintable) {
  EXPECT_TRUE(check_name("the input", "raw data"));
  EXPECT_EQ(check_name("the input", "").error().message, "the input has no name");
  EXPECT_EQ(check_name("the input", "a\x7f").error().message, "the input has control characters in its name");
}

}  // namespace
}  // namespace znni
