#include "planner/network/named_outputs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

// Writes 3 channels.
Network net(std::vector<NamedOutput> outputs) {
  Network network;
  network.nodes = {{"a", Convolution{3, Vec3::cube(2), Vec3::cube(1), {}}, {0}}};
  network.outputs = std::move(outputs);
  return network;
}

TEST(PlannerNamedOutputs, OneOutputHasTheNetworksName) {
  EXPECT_EQ(named_outputs(net({})), (std::vector<NamedOutput>{{"output", 3}}));
}

TEST(PlannerNamedOutputs, SeveralAreAsTheNetworkSays) {
  const std::vector<NamedOutput> two = {{"b", 1}, {"a", 2}};
  EXPECT_TRUE(check(net(two)));
  EXPECT_EQ(named_outputs(net(two)), two);
}

TEST(PlannerNamedOutputs, WhatIsRefused) {
  const auto refusal = [](std::vector<NamedOutput> outputs) { return check(net(std::move(outputs))).error().message; };
  EXPECT_THAT(refusal({{"a", 3}}), HasSubstr("a list of outputs has one"));
  EXPECT_THAT(refusal({{"a", 1}, {"a", 2}}), HasSubstr("output a stands twice"));
  EXPECT_THAT(refusal({{"a", 1}, {"", 2}}), HasSubstr("an output has no name"));
  EXPECT_THAT(refusal({{"a", 1}, {"b\n", 2}}), HasSubstr("control characters"));
  EXPECT_THAT(refusal({{"a", 3}, {"b", 0}}), HasSubstr("output b has no channels"));
  EXPECT_THAT(refusal({{"a", 2}, {"b", 2}}), HasSubstr("the outputs have 4 channels in all; the last node writes 3"));
}

TEST(PlannerNamedOutputs, NamesArePrintable) {
  EXPECT_TRUE(check_name("the input", "raw data"));
  EXPECT_EQ(check_name("the input", "").error().message, "the input has no name");
  EXPECT_EQ(check_name("the input", "a\x7f").error().message, "the input has control characters in its name");
}

}  // namespace
}  // namespace znni
