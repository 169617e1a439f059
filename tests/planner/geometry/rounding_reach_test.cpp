#include "planner/geometry/rounding_reach.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

Convolution reaching_conv(std::int64_t f_out, Vec3 k) { return {f_out, k, Vec3::cube(1), {}}; }

// Returns a chain of field of view 1x4x6.
Network reaching_chain() {
  Network network;
  network.name = "chain";
  network.nodes = {{"a", reaching_conv(2, {1, 3, 3}), {0}},
                   {"pool", Pooling{PoolKind::max, {1, 1, 2}, {1, 1, 2}}, {1}},
                   {"b", reaching_conv(2, {1, 2, 2}), {2}}};
  return network;
}

Geometry patch_of(const Network& network, Vec3 pass_input) {
  GeometryChoice choice;
  choice.pass_input = pass_input;
  choice.modes.assign(pooling_nodes(network).size(), PoolMode::fragments);
  return make_geometry(network, choice).value();
}

TEST(RoundingReach, WithoutTransformsIsTheFieldOfView) {
  const RoundingReach reach =
      rounding_reach(reaching_chain(), patch_of(reaching_chain(), {20, 20, 21}), std::vector<Vec3>(3));
  EXPECT_EQ(reach.margin, (Vec3{}));
  EXPECT_EQ(reach.voxels(), (Vec3{1, 4, 6}));
  EXPECT_EQ(reach.field_of_view, (Vec3{1, 4, 6}));
}

// The spreads of layers, each times the stride before the layer, add up to either side.
TEST(RoundingReach, AddsUpThroughTheNet) {
  const RoundingReach reach =
      rounding_reach(reaching_chain(), patch_of(reaching_chain(), {40, 40, 41}), {Vec3{0, 2, 3}, {}, Vec3{1, 0, 5}});
  EXPECT_EQ(reach.margin, (Vec3{1, 2, 3 + 2 * 5}));
  EXPECT_EQ(reach.voxels(), (Vec3{1 + 2, 4 + 4, 6 + 26}));
}

TEST(RoundingReach, OfBranchesIsThatOfTheWidest) {
  Network network;
  network.name = "branches";
  network.nodes = {{"a", reaching_conv(2, Vec3::cube(1)), {0}},
                   {"left", reaching_conv(2, Vec3::cube(3)), {1}},
                   {"right", reaching_conv(2, Vec3::cube(3)), {1}},
                   {"sum", Add{}, {2, 3}},
                   {"last", reaching_conv(1, Vec3::cube(1)), {4, 3}}};
  const Geometry geometry = patch_of(network, Vec3::cube(30));
  for (const bool left : {true, false}) {
    std::vector<Vec3> spreads(5);
    spreads[0] = {1, 1, 1};
    spreads[left ? 1 : 2] = {0, 4, 0};
    EXPECT_EQ(rounding_reach(network, geometry, spreads).margin, (Vec3{1, 5, 1})) << left;
  }
}

// Errors of a patch follow its own voxels; those of a stream follow what came before, without an end.
TEST(RoundingReach, EndsWithThePatchButAlongAStream) {
  const Network network = reaching_chain();
  const std::vector<Vec3> spreads = {Vec3{50, 50, 50}, {}, {}};
  const Geometry patch = patch_of(network, {10, 12, 15});
  EXPECT_EQ(rounding_reach(network, patch, spreads).margin, patch.patch_output - Vec3::cube(1));
  EXPECT_EQ(rounding_reach(network, patch, spreads).voxels(), patch.patch_input + patch.patch_output - Vec3::cube(1));
  GeometryChoice choice = patch.choice;
  choice.streamed = true;
  const Geometry stream = make_geometry(network, choice).value();
  EXPECT_EQ(rounding_reach(network, stream, spreads).margin,
            (Vec3{50, stream.patch_output.y - 1, stream.patch_output.x - 1}));
}

// Spreads and patch are along the axes of the geometry, the reach along those of the volume.
TEST(RoundingReach, IsOfTheVolumesAxesWhereTheyAreSwapped) {
  const Network network = reaching_chain();
  GeometryChoice choice;
  choice.pass_input = {4, 20, 30};  // 4 new planes along x
  choice.modes = {PoolMode::fragments};
  choice.streamed = true;
  choice.axis = 2;
  const Result<Geometry> geometry = make_geometry(network, choice);
  ASSERT_TRUE(geometry) << geometry.error().message;
  const RoundingReach reach = rounding_reach(network, *geometry, {Vec3{7, 5, 3}, {}, Vec3{100, 0, 90}});
  EXPECT_EQ(reach.field_of_view, (Vec3{1, 4, 6}));
  EXPECT_EQ(reach.margin, (Vec3{29, 5, 7 + 2 * 100}));  // no further than the 30 voxels along z
}

}  // namespace
}  // namespace znni
