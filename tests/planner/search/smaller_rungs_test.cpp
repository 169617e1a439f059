#include "planner/search/smaller_rungs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::ElementsAre;

// Returns the largest extents that were asked for; a rung that is added writes `less` voxels less per axis.
std::vector<Vec3> asked(const Network& network, Vec3 first, Vec3 smallest, std::optional<std::int64_t> less) {
  std::vector<Vec3> all;
  add_smaller_rungs(network, first, smallest, [&](Vec3 largest) {
    all.push_back(largest);
    return less ? std::optional(largest - Vec3::cube(*less)) : std::nullopt;
  });
  return all;
}

Network net_of(std::int64_t k) {
  Network network;
  network.nodes = {{"conv", Convolution{2, Vec3::cube(k), Vec3::cube(1), {}}, {0}}};
  return network;
}

TEST(PlannerSmallerRungs, HalveTheOneBeforeThemAndEndWithTheSmallest) {
  EXPECT_THAT(asked(net_of(3), {80, 64, 64}, {2, 4, 4}, std::nullopt),
              ElementsAre(Vec3{40, 32, 32}, Vec3{20, 16, 16}, Vec3{10, 8, 8}, Vec3{2, 4, 4}));
  EXPECT_THAT(asked(net_of(3), {80, 64, 64}, {2, 4, 4}, 2),
              ElementsAre(Vec3{40, 32, 32}, Vec3{19, 15, 15}, Vec3{8, 6, 6}, Vec3{2, 4, 4}));
  EXPECT_THAT(asked(net_of(3), {8, 8, 8}, {3, 3, 3}, std::nullopt),
              ElementsAre(Vec3{4, 4, 4}, Vec3{3, 3, 3}, Vec3{3, 3, 3}, Vec3{3, 3, 3}));
}

TEST(PlannerSmallerRungs, KeepRowsWholeOnceWhereVoxelsNeedNoNeighbours) {
  EXPECT_THAT(asked(net_of(1), {64, 64, 64}, {1, 1, 1}, std::nullopt),
              ElementsAre(Vec3{32, 32, 64}, Vec3{16, 16, 32}, Vec3{8, 8, 16}, Vec3{1, 1, 1}));
}

TEST(PlannerSmallerRungs, AreMeasuredByThePatchAndBesideAStreamByItsCrossSection) {
  const Network network = net_of(3);
  EXPECT_EQ(measure_of(*make_geometry(network, {{9, 12, 14}, 1, {}})), (Vec3{7, 10, 12}));
  EXPECT_EQ(measure_of(*make_geometry(network, {{4, 12, 14}, 1, {}, 0, true})), Vec3::cube(12));
}

}  // namespace
}  // namespace znni
