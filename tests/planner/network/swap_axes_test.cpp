#include "planner/network/swap_axes.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "planner/geometry/geometry.hpp"

namespace znni {
namespace {

TEST(SwapAxes, SwapsZWithTheAxisAndBack) {
  const Vec3 v{1, 2, 3};
  EXPECT_EQ(swap_axes(v, 0), v);
  EXPECT_EQ(swap_axes(v, 1), (Vec3{2, 1, 3}));
  EXPECT_EQ(swap_axes(v, 2), (Vec3{3, 2, 1}));
  EXPECT_EQ(axis_name(1), "y");
  EXPECT_EQ(axis_name(2), "x");
}

Network anisotropic() {
  Network network;
  network.nodes = {{"conv", Convolution{2, {1, 2, 3}, {1, 1, 2}, {}}, {0}},
                   {"pool", Pooling{PoolKind::max, {1, 2, 2}, {1, 2, 2}}, {1}},
                   {"crop", Crop{{1, 0, 2}, {0, 1, 3}}, {2}},
                   {"last", Convolution{1, {3, 1, 2}, Vec3::cube(1), {}}, {3}}};
  return network;
}

TEST(SwapAxes, ShufflesReadTheirChannelsInTheOrderOfTheAxes) {
  Network network = anisotropic();
  EXPECT_TRUE(can_swap_axes(network));
  network.nodes.push_back({"up", Upsample{{1, 2, 1}, UpsampleKind::nearest}, {4}});
  EXPECT_TRUE(can_swap_axes(network));
  EXPECT_EQ(std::get<Upsample>(swap_axes(network, 1).nodes.back().operation).factor, (Vec3{2, 1, 1}));
  std::get<Upsample>(network.nodes.back().operation).kind = UpsampleKind::shuffle;
  EXPECT_FALSE(can_swap_axes(network));
}

TEST(SwapAxes, ReachesOfANetworkAreSwapped) {
  const Network network = anisotropic();
  for (int axis = 0; axis < 3; ++axis) {
    const Network turned = swap_axes(network, axis);
    EXPECT_EQ(swap_axes(turned, axis), network);
    EXPECT_EQ(reaches(turned).back().fov, swap_axes(reaches(network).back().fov, axis));
    EXPECT_EQ(reaches(turned).back().stride, swap_axes(reaches(network).back().stride, axis));
    EXPECT_EQ(kernel_bytes(turned), 4 * (2 * 6 + 2 * 6));
  }
}

TEST(SwapAxes, StridesOfOutputsAreSwapped) {
  Network network = anisotropic();
  network.output_stride = {1, 2, 3};
  network.outputs = {{"a", 1, {4, 5, 6}}, {"b", 1}};
  network.min_volume = {7, 8, 9};
  EXPECT_EQ(swap_axes(network, 2).output_stride, (Vec3{3, 2, 1}));
  EXPECT_EQ(swap_axes(network, 2).min_volume, (Vec3{9, 8, 7}));
  EXPECT_EQ(swap_axes(network, 2).outputs, (std::vector<NamedTensor>{{"a", 1, {6, 5, 4}}, {"b", 1}}));
}

TEST(SwapAxes, KernelsOfGroupsReadTheChannelsOfOne) {
  Network network;
  network.f_in = 6;
  network.nodes = {{"conv", Convolution{9, {1, 2, 3}, Vec3::cube(1), {}, Vec3::cube(1), 3}, {0}}};
  EXPECT_EQ(kernel_bytes(network), 4 * 9 * 2 * 6);
}

TEST(SwapAxes, EveryTapOfAKernelFindsItsPlace) {
  const Vec3 k{2, 3, 4};
  std::vector<float> kernels(2 * 24);
  std::iota(kernels.begin(), kernels.end(), 0.0F);
  for (int axis = 0; axis < 3; ++axis) {
    const Vec3 turned = swap_axes(k, axis);
    std::vector<float> found(kernels.size());
    swap_kernel_axes(kernels, k, axis, found);
    const auto index = [](Vec3 at, Vec3 n) { return static_cast<std::size_t>((at.z * n.y + at.y) * n.x + at.x); };
    for (const Vec3 at : {Vec3{0, 0, 0}, Vec3{1, 0, 0}, Vec3{0, 2, 1}, Vec3{1, 1, 3}}) {
      EXPECT_EQ(found[24 + index(swap_axes(at, axis), turned)], kernels[24 + index(at, k)]) << to_string(at);
    }
    std::vector<float> back(kernels.size());
    swap_kernel_axes(found, turned, axis, back);
    EXPECT_EQ(back, kernels);
  }
}

// The geometry of an swapped choice is that of the swapped network.
TEST(SwapAxes, AGeometryIsThatOfTheSwappedNetwork) {
  const Network network = anisotropic();
  for (int axis = 1; axis < 3; ++axis) {
    const Network turned = swap_axes(network, axis);
    GeometryChoice choice{{}, 1, {PoolMode::fragments}, 0, true};
    for (int i = 0; i < 3; ++i) choice.pass_input[i] = legal_extents(turned, choice.modes, i, 40).back();
    choice.pass_input.z = 6;
    const Geometry wanted = *make_geometry(turned, choice);
    choice.axis = axis;
    const Result<Geometry> found = make_geometry(network, choice);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->problems, wanted.problems);
    EXPECT_EQ(found->patch_output, wanted.patch_output);
    EXPECT_EQ(found->histories.kept, wanted.histories.kept);
    choice.streamed = false;
    EXPECT_EQ(make_geometry(network, choice).error().message,
              "axes are swapped for streams of nets of three axes only");
    choice.axis = 3;
    EXPECT_EQ(make_geometry(network, choice).error().message, "axis 3; 0 to 2 is right");
  }
}

}  // namespace
}  // namespace znni
