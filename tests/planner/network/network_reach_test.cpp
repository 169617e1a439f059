#include "planner/network/network_reach.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/padding.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

// Returns a convolution, two levels below it, the skip of the first: padded to the same extent.
Network u_net() {
  Network network;
  network.nodes = {{"first", Convolution{2, Vec3::cube(3), Vec3::cube(1), {}}, {0}},
                   {"pool", Pooling{}, {1}},
                   {"below", Convolution{2, Vec3::cube(3), Vec3::cube(1), {}, Vec3{1, 2, 2}}, {2}},
                   {"up", Upsample{{2, 4, 4}, UpsampleKind::nearest}, {3}},
                   {"both", Concat{}, {1, 4}}};
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  const Result<LoadedNetwork> valid = without_padding({network, {}}, {one, {}, one, {}, {}});
  return valid.value().network;
}

TEST(PlannerNetworkReach, VoxelsNeedFieldOfViewAndStrideTimesTheRest) {
  const Network network = u_net();
  ASSERT_TRUE(check(network)) << check(network).error().message;
  const std::vector<Reach> reach = reaches(network);
  EXPECT_EQ(reach[2].stride, Vec3::cube(2));
  EXPECT_EQ(reach.back().stride, Vec3::cube(1));
  EXPECT_EQ(lost_extent(network), Vec3::cube(1));
}

TEST(PlannerNetworkReach, ThePeriodIsWhereAllStridesComeTogether) {
  const Network network = u_net();
  EXPECT_EQ(period(network), (Vec3{2, 4, 4}));
  EXPECT_TRUE(is_strided(network));
  EXPECT_FALSE(is_dense(network));
  EXPECT_EQ((min_extent(network) - network.frame.begin - network.frame.end) % period(network), Vec3{});
}

TEST(PlannerNetworkReach, VolumesAreWholePeriods) {
  const Network network = u_net();
  EXPECT_TRUE(check_volume(network, {6, 8, 12}));
  const Result<void> odd = check_volume(network, {6, 9, 12});
  ASSERT_FALSE(odd);
  EXPECT_THAT(odd.error().message, HasSubstr("9 voxels along y; the network's strides need steps of 4, here 8 or 12"));
}

TEST(PlannerNetworkReach, DensePoolingsHaveNoPeriod) {
  Network network;
  network.nodes = {{"pool", Pooling{}, {0}}, {"last", Convolution{1, Vec3::cube(3), Vec3::cube(1), {}}, {1}}};
  EXPECT_EQ(period(network), Vec3::cube(1));
  EXPECT_EQ(min_extent(network), reaches(network).back().fov);
  EXPECT_TRUE(check_volume(network, {17, 18, 19}));
  EXPECT_TRUE(is_dense(network));
}

TEST(PlannerNetworkReach, CheckWantsExtentsThatFitEveryBranch) {
  Network network = u_net();
  auto& pool = std::get<Pooling>(network.nodes[1].operation);
  pool.strided = false;
  EXPECT_THAT(check(network).error().message, HasSubstr("is a dense pooling in a network with strides of its own"));
}

// n voxels give 2 (n - 2); the input's field of view and stride grow to what the formula of Reach needs.
TEST(PlannerNetworkReach, LinearUpsamplingsReadOneVoxelBeside) {
  const Reach coarse{Vec3::cube(5), Vec3::cube(4)};
  const Reach fine = reach_after(Upsample{{1, 2, 4}, UpsampleKind::linear}, coarse);
  EXPECT_EQ(fine.stride, (Vec3{4, 2, 1}));
  for (int axis = 0; axis < 3; ++axis) {
    for (const std::int64_t n : {3, 4, 9}) {
      const std::int64_t factor = axis == 0 ? 1 : axis == 1 ? 2 : 4;
      const std::int64_t written = axis == 0 ? n : factor * (n - 2);
      EXPECT_EQ(fine.fov[axis] + fine.stride[axis] * (written - 1), 5 + 4 * (n - 1)) << axis;
    }
  }
}

}  // namespace
}  // namespace znni
