// Networks in lines that people read and plans are known by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/network.hpp"

namespace znni {
namespace {

Network padded() {
  Network network;
  network.nodes = {{"a", Convolution{2, {1, 3, 3}, Vec3::cube(1), {}}, {0}, {{}, {0, 2, 2}}},
                   {"b", Convolution{1, {1, 3, 3}, Vec3::cube(1), {}}, {1}}};
  network.frame = {{0, 0, 0}, {0, 2, 2}};
  return network;
}

TEST(PlannerNetworkDescription, WhatIsSetToZeroIsPartOfANode) {
  EXPECT_THAT(describe(padded()),
              testing::ElementsAre("a: conv 1 -> 2, k 1x3x3 <- input framed by 0x0x0 and 0x2x2 zeros, "
                                   "outside 0x0x0 and 0x2x2 zero",
                                   "b: conv 2 -> 1, k 1x3x3 <- a"));
}

TEST(PlannerNetworkDescription, KindsOfWhatIsOutsideAreTold) {
  Network network = padded();
  network.nodes[0].outside_kind = OutsideKind::lowest;
  EXPECT_THAT(describe(network)[0], testing::EndsWith("outside 0x0x0 and 0x2x2 -infinity"));
  network.nodes[0].outside_kind = OutsideKind::edge;
  EXPECT_THAT(describe(network)[0], testing::EndsWith("outside 0x0x0 and 0x2x2 as at the border"));
  network.nodes[0].outside_kind = OutsideKind::reflect;
  EXPECT_THAT(describe(network)[0], testing::EndsWith("outside 0x0x0 and 0x2x2 as reflected at the border"));
}

TEST(PlannerNetworkDescription, FramesTellNetworksApart) {
  Network network = padded();
  network.frame = {{0, 1, 1}, {0, 1, 1}};
  EXPECT_NE(describe(network), describe(padded()));
}

TEST(PlannerNetworkDescription, OfAValidNetworkItSaysNothingOfBorders) {
  Network network = padded();
  network.nodes[0].outside = {};
  network.frame = {};
  EXPECT_EQ(describe(network)[0], "a: conv 1 -> 2, k 1x3x3 <- input");
}

}  // namespace
}  // namespace znni
