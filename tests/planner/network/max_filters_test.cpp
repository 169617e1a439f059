#include "planner/network/max_filters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/graph_passes.hpp"
#include "tests/planner/dense_net.hpp"
#include "tests/support/cases.hpp"

namespace znni {
namespace {

using test::Random;
using testing::ElementsAre;

Convolution dilated_conv(std::int64_t k, std::int64_t dilation) { return {2, Vec3::cube(k), Vec3::cube(dilation), {}}; }

Pooling filter(std::int64_t window, std::int64_t dilation) {
  return {PoolKind::max, Vec3::cube(window), Vec3::cube(1), false, Vec3::cube(dilation)};
}

Network network_of(std::vector<Node> nodes) {
  Network network;
  network.nodes = std::move(nodes);
  return network;
}

std::vector<std::string> pooled(std::vector<Node> nodes) {
  Network network = network_of(std::move(nodes));
  EXPECT_TRUE(check(network)) << check(network).error().message;
  pool_for_dilations(network);
  EXPECT_TRUE(check(network)) << check(network).error().message;
  return describe(network);
}

TEST(PlannerMaxFilters, MaxFilteringBecomesPooling) {
  EXPECT_THAT(pooled({{"a", dilated_conv(3, 1), {0}},
                      {"f", filter(2, 1), {1}},
                      {"b", dilated_conv(3, 2), {2}},
                      {"g", filter(3, 2), {3}},
                      {"c", dilated_conv(3, 6), {4}}}),
              ElementsAre("a: conv 1 -> 2, k 3x3x3 <- input", "f: max pool 2, window 2x2x2, stride 2x2x2 <- a",
                          "b: conv 2 -> 2, k 3x3x3 <- f", "g: max pool 2, window 3x3x3, stride 3x3x3 <- b",
                          "c: conv 2 -> 2, k 3x3x3 <- g"));
}

TEST(PlannerMaxFilters, WhatIsDilatedLessKeepsAPoolingDense) {
  EXPECT_THAT(
      pooled({{"f", filter(2, 1), {0}}, {"b", dilated_conv(3, 4), {1}}, {"c", dilated_conv(2, 6), {2}}}),
      ElementsAre("f: max pool 1, window 2x2x2, stride 2x2x2 <- input", "b: conv 1 -> 2, k 3x3x3, dilation 2x2x2 <- f",
                  "c: conv 2 -> 2, k 2x2x2, dilation 3x3x3 <- b"));
  EXPECT_THAT(
      pooled({{"f", filter(2, 1), {0}}, {"b", dilated_conv(3, 2), {1}}, {"c", dilated_conv(2, 3), {2}}}),
      ElementsAre("f: max pool 1, window 2x2x2, stride 1x1x1 <- input", "b: conv 1 -> 2, k 3x3x3, dilation 2x2x2 <- f",
                  "c: conv 2 -> 2, k 2x2x2, dilation 3x3x3 <- b"));
}

TEST(PlannerMaxFilters, ABranchAroundAPoolingKeepsIt) {
  const std::vector<Node> nodes = {{"f", filter(2, 1), {0}},
                                   {"b", dilated_conv(2, 2), {1}},
                                   {"beside", Crop{{}, Vec3::cube(3)}, {0}},
                                   {"both", Concat{}, {2, 3}}};
  EXPECT_EQ(pooled(nodes), describe(network_of(nodes)));
}

TEST(PlannerMaxFilters, CropsAreOfLargerVoxels) {
  EXPECT_THAT(pooled({{"f", filter(2, 1), {0}},
                      {"b", dilated_conv(3, 2), {1}},
                      {"middle", Crop{Vec3::cube(2), Vec3::cube(2)}, {1}},
                      {"both", Concat{}, {2, 3}}}),
              testing::Contains("middle: crop 1, begin 1x1x1, end 1x1x1 <- f"));
}

TEST(PlannerMaxFilters, NetworksWithVoxelsOfSeveralSizesAreLeft) {
  Convolution strided = dilated_conv(2, 1);
  strided.stride = Vec3::cube(2);
  Pooling plain = filter(2, 1);
  plain.strided = true;
  const std::vector<Node> nodes = {
      {"f", plain, {0}}, {"b", dilated_conv(3, 2), {1}}, {"down", strided, {2}}, {"up", Upsample{}, {3}}};
  EXPECT_EQ(pooled(nodes), describe(network_of(nodes)));
}

TEST(PlannerMaxFilters, GraphPassesDoSo) {
  const LoadedNetwork loaded =
      fold_and_fuse({network_of({{"f", filter(2, 1), {0}}, {"b", dilated_conv(3, 2), {1}}}), {}});
  EXPECT_EQ(describe(loaded.network).back(), "b: conv 1 -> 2, k 3x3x3 <- f");
}

// Returns the network's form for whole volumes: no pooling strides, and what is behind them is dilated.
Network dense_form(Network network) {
  const std::vector<Reach> reach = reaches(network);
  for (Node& node : network.nodes) {
    const Vec3 stride = reach[static_cast<std::size_t>(node.inputs.front())].stride;
    if (auto* own = std::get_if<Convolution>(&node.operation)) own->dilation = own->dilation * stride;
    if (auto* crop = std::get_if<Crop>(&node.operation)) *crop = {crop->begin * stride, crop->end * stride};
    if (auto* pool = std::get_if<Pooling>(&node.operation)) {
      pool->dilation = pool->dilation * stride;
      pool->stride = Vec3::cube(1);
    }
  }
  return network;
}

TEST(PlannerMaxFilters, EveryPositionIsWhatItWas) {
  int changed = 0;
  for (int i = 0; i < test::case_count(60); ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Network strided = test::random_network(random);
    const Network filtered = dense_form(strided);
    ASSERT_TRUE(check(filtered)) << check(filtered).error().message;
    Network found = filtered;
    pool_for_dilations(found);
    ASSERT_TRUE(check(found)) << check(found).error().message;
    const NetworkWeights weights = random_weights(strided, 7);
    const Vec3 n = reaches(strided).back().fov + random.vec3(0, 3);
    const oracle::Values input = test::normals64(strided.f_in * voxels(n), random);
    const oracle::Values exact = test::dense_output(strided, weights, n, input);
    EXPECT_EQ(test::dense_output(filtered, weights, n, input), exact);
    EXPECT_EQ(test::dense_output(found, weights, n, input), exact);
    if (found != filtered) ++changed;
  }
  EXPECT_GT(changed, test::case_count(60) / 12);
}

}  // namespace
}  // namespace znni
