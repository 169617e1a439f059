#include "planner/network/unfused.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/graph_passes.hpp"

namespace znni {
namespace {

using testing::ElementsAre;

const Activation relu{ActivationKind::relu, 0};

LoadedNetwork residual_net() {
  const Convolution conv{2, Vec3::cube(1), Vec3::cube(1), relu};
  Network network;
  network.f_in = 2;
  network.nodes = {{"a", conv, {0}}, {"b", conv, {1, 0}}, {"c", Norm{1, 1e-5F, relu}, {2}}, {"d", Add{relu}, {3, 2}}};
  return {network, random_weights(network, 1)};
}

TEST(PlannerUnfused, EachNodeComputesOneThing) {
  const LoadedNetwork plain = unfused(residual_net());
  EXPECT_TRUE(check(plain.network)) << check(plain.network).error().message;
  EXPECT_TRUE(check_weights(plain.network, plain.weights));
  EXPECT_THAT(describe(plain.network),
              ElementsAre("a: conv 2 -> 2, k 1x1x1 <- input", "a activation: activation 2, relu <- a",
                          "b: conv 2 -> 2, k 1x1x1 <- a activation", "b sum: add 2 <- b, input",
                          "b activation: activation 2, relu <- b sum", "c: norm 2, groups 1 <- b activation",
                          "c activation: activation 2, relu <- c", "d: add 2 <- c activation, b activation",
                          "d activation: activation 2, relu <- d"));
}

TEST(PlannerUnfused, FusingMakesTheSameAgain) {
  const LoadedNetwork fused = residual_net();
  const LoadedNetwork again = fold_and_fuse(unfused(fused));
  EXPECT_EQ(describe(again.network), describe(fused.network));
  for (std::size_t i = 0; i < fused.weights.size(); ++i) EXPECT_EQ(again.weights[i].kernels, fused.weights[i].kernels);
}

TEST(PlannerUnfused, WithoutWeightsThereAreNone) {
  const LoadedNetwork plain = unfused({residual_net().network, {}});
  EXPECT_EQ(plain.network.nodes.size(), 9U);
  EXPECT_TRUE(plain.weights.empty());
}

TEST(PlannerUnfused, NamesStayApart) {
  LoadedNetwork loaded = residual_net();
  loaded.network.nodes[2].name = "a activation";
  EXPECT_EQ(unfused(loaded).network.nodes[1].name, "a activation 2");
}

TEST(PlannerUnfused, WhatLiesOutsideIsSetInTheLastPart) {
  LoadedNetwork loaded = residual_net();
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  loaded.network.nodes[0].outside = one;
  loaded.network.nodes[0].beyond = one;
  const Network plain = unfused(loaded).network;
  EXPECT_EQ(plain.nodes[0].outside, Border{});
  EXPECT_EQ(plain.nodes[1].outside, one);
  EXPECT_EQ(plain.nodes[0].beyond, one);
  EXPECT_EQ(plain.nodes[1].beyond, one);
}

}  // namespace
}  // namespace znni
