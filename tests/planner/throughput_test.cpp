#include "planner/throughput.hpp"

#include <gtest/gtest.h>

#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

Geometry geometry(const Network& network, std::int64_t edge, std::int64_t S, PoolMode mode) {
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), mode);
  const Result<Geometry> made = make_geometry(network, {Vec3::cube(edge), S, modes});
  EXPECT_TRUE(made);
  return *made;
}

TEST(PlannerThroughput, UsefulVoxelsOfAPatch) {
  const Network network = drawn::chain();
  const Vec3 fov = reaches(network).back().fov;
  const Geometry patch = geometry(network, 12, 2, PoolMode::fragments);
  EXPECT_EQ(useful_voxels(patch, fov, std::nullopt), 2.0 * static_cast<double>(voxels(patch.patch_output)));
}

TEST(PlannerThroughput, UsefulVoxelsOfAVolumeLoseWhatOverlaps) {
  const Network network = drawn::chain();
  const Vec3 fov = reaches(network).back().fov;
  const Geometry patch = geometry(network, 12, 1, PoolMode::fragments);
  const Vec3 two = patch.patch_output * Vec3::cube(2) + fov - Vec3::cube(1);
  EXPECT_DOUBLE_EQ(useful_voxels(patch, fov, two), static_cast<double>(voxels(patch.patch_output)));
  const Vec3 bit_more = two + Vec3{0, 0, 1};  // a third patch along x, nearly for nothing
  EXPECT_LT(useful_voxels(patch, fov, bit_more), 0.8 * static_cast<double>(voxels(patch.patch_output)));
  const Geometry pair = geometry(network, 12, 4, PoolMode::fragments);
  EXPECT_DOUBLE_EQ(useful_voxels(pair, fov, two), 4.0 * static_cast<double>(voxels(patch.patch_output)));
}

TEST(PlannerThroughput, CopiesAreThoseOfAllWindows) {
  const Network network = drawn::chain();
  const Geometry plain = geometry(network, 13, 1, PoolMode::plain);
  ASSERT_EQ(plain.passes.size(), 8U);
  DeviceSpec spec;
  const Seconds slow = copy_seconds(network, plain, spec);
  EXPECT_GT(slow, 8.0 * 13 * 13 * 13 * 4 / spec.bytes_per_second);
  spec.bytes_per_second *= 2;
  EXPECT_DOUBLE_EQ(copy_seconds(network, plain, spec), slow / 2);
}

TEST(PlannerThroughput, BorderCostOfOneConvolutionIsOne) {
  Network network;
  network.nodes = {{"conv", drawn::convolution(3, Vec3::cube(3)), {0}}};
  EXPECT_NEAR(border_cost(network, geometry(network, 10, 1, PoolMode::plain)), 1.0, 1e-12);
}

TEST(PlannerThroughput, BorderCostByHand) {
  Network network;  // outputs of 8^3 and 6^3 voxels: the first layer computes 512 where 216 are needed
  network.nodes = {{"a", drawn::convolution(1, Vec3::cube(3)), {0}}, {"b", drawn::convolution(1, Vec3::cube(3)), {1}}};
  EXPECT_NEAR(border_cost(network, geometry(network, 10, 1, PoolMode::plain)), (512.0 + 216.0) / (2 * 216.0), 1e-12);
}

TEST(PlannerThroughput, BorderCostFallsTowardsOneForAllModes) {
  const Network network = drawn::chain();
  for (const PoolMode mode : {PoolMode::plain, PoolMode::fragments}) {
    const std::int64_t odd = mode == PoolMode::plain ? 1 : 0;
    double before = 100;
    for (const std::int64_t edge : {10, 20, 80, 500}) {
      const double cost = border_cost(network, geometry(network, edge + odd, 1, mode));
      EXPECT_LT(cost, before);
      EXPECT_GE(cost, 1.0);
      before = cost;
    }
    EXPECT_LT(before, 1.02);
  }
}

}  // namespace
}  // namespace znni
