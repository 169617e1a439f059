#include "planner/network/tile_bound.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/padding.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

Convolution conv_operation(std::int64_t f_out, Vec3 stride = Vec3::cube(1)) {
  return {f_out, Vec3::cube(3), Vec3::cube(1), {}, stride};
}

const Border one{Vec3::cube(1), Vec3::cube(1)};

// Returns a convolution, a normalisation and a convolution behind it; both pad if `pads`.
Network normalised(bool pads) {
  Network network;
  network.nodes = {{"a", conv_operation(4), {0}}, {"norm", Norm{4}, {1}}, {"b", conv_operation(2), {2}}};
  const Border around = pads ? one : Border{};
  return without_padding({network, {}}, {around, {}, around}).value().network;
}

std::string failure(Network network, Vec3 window) {
  network.window = window;
  const Result<void> checked = check(network);
  return checked ? "" : checked.error().message;
}

TEST(PlannerTileBound, AWindowIsALegalVolume) {
  EXPECT_EQ(failure(normalised(true), {1, 1, 1}), "");
  EXPECT_EQ(failure(normalised(false), {5, 5, 7}), "");
  EXPECT_THAT(failure(normalised(false), {5, 4, 7}), HasSubstr("the window, 5x4x7, is smaller than the field of view"));
  EXPECT_THAT(failure(normalised(true), {4, std::int64_t{1} << 62, 7}), HasSubstr("is larger than 2^30 along an axis"));
  EXPECT_THAT(failure(normalised(true), {0, 4, 7}), HasSubstr("the window, 0x4x7, is smaller"));
  Network other = normalised(true);
  other.nodes[1].operation = ScaleShift{};
  EXPECT_THAT(failure(other, Vec3::cube(5)), HasSubstr("has a window, and no node that normalises"));
}

TEST(PlannerTileBound, WindowsFollowTheStrides) {
  Network network;
  network.nodes = {{"down", Pooling{}, {0}}, {"norm", Norm{1}, {1}}, {"up", Upsample{}, {2}}};
  network = without_padding({network, {}}, {{}, {}, {}}).value().network;
  EXPECT_EQ(failure(network, {2, 4, 8}), "");
  EXPECT_THAT(failure(network, {2, 5, 8}), HasSubstr("the volume has 5 voxels along y"));
}

// Its fragments would be normalised apart.
TEST(PlannerTileBound, APoolingMayNotBeDense) {
  Network network;
  network.nodes = {{"pool", Pooling{}, {0}}, {"norm", Norm{1}, {1}}};
  EXPECT_THAT(failure(network, {}), HasSubstr("node pool is a dense pooling, and node norm normalises"));
}

TEST(PlannerTileBound, AxesWithAFrameAreClosed) {
  EXPECT_EQ(axes_of_window(normalised(true)), Vec3::cube(1));
  EXPECT_EQ(axes_of_window(normalised(false)), Vec3{});
  Network other = normalised(true);
  other.nodes[1].operation = ScaleShift{};
  EXPECT_EQ(axes_of_window(other), Vec3{});
}

// Behind the first convolution the network is to have a voxel more at each end, which the second reads as zero.
TEST(PlannerTileBound, OnlyTheVolumesVoxelsAreNormalised) {
  EXPECT_TRUE(check_normalised(normalised(false), {}));
  EXPECT_TRUE(check_normalised(normalised(true), Vec3::cube(1)));
  EXPECT_THAT(check_normalised(normalised(true), {1, 0, 1}).error().message,
              HasSubstr("node norm would normalise 1x1x1 and 1x1x1 voxels beyond the volume, along y"));
}

TEST(PlannerTileBound, OnlyTheVolumesVoxelsArePooled) {
  Network network = normalised(true);
  network.nodes[1].operation = GlobalPool{};
  EXPECT_EQ(failure(network, {4, 4, 4}), "");
  EXPECT_EQ(axes_of_window(network), Vec3::cube(1));
  EXPECT_TRUE(check_normalised(network, Vec3::cube(1)));
  EXPECT_THAT(check_normalised(network, {1, 1, 0}).error().message,
              HasSubstr("node norm would pool 1x1x1 and 1x1x1 voxels beyond the volume, along x"));
}

TEST(PlannerTileBound, ErrorsSayWhatBindsTheNetwork) {
  Network network = normalised(true);
  EXPECT_THAT(volume_of_window(network, {}).error().message,
              HasSubstr("normalises over all voxels of its window (node norm): say how large that is"));
  network.nodes[1].operation = GlobalPool{};
  EXPECT_THAT(volume_of_window(network, {}).error().message,
              HasSubstr("pools all voxels of its window (node norm): say how large that is"));
  network.nodes.insert(network.nodes.begin(), Node{"pool", Pooling{}, {0}});
  network.nodes[1].inputs = {1};
  network.nodes[2].inputs = {2};
  network.nodes[3].inputs = {3};
  EXPECT_THAT(check_window(network).error().message,
              HasSubstr("node pool is a dense pooling, and node norm pools all voxels"));
}

// The last voxel that the strided convolution leaves unread is normalised, too.
TEST(PlannerTileBound, AllVoxelsOfTheVolumeAreNormalised) {
  Network network;
  network.nodes = {{"norm", Norm{1}, {0}}, {"down", conv_operation(1, Vec3::cube(2)), {1}}, {"up", Upsample{}, {2}}};
  const Border before{Vec3::cube(1), {}};
  const Network framed = without_padding({network, {}}, {{}, before, {}}, Vec3::cube(6)).value().network;
  ASSERT_TRUE(check(framed)) << check(framed).error().message;
  EXPECT_TRUE(check_normalised(framed, axes_of_window(framed))) << describe(framed)[0];
  network.nodes[0].operation = GlobalPool{};
  EXPECT_EQ(without_padding({network, {}}, {{}, before, {}}, Vec3::cube(6)).value().network.frame, framed.frame);
}

}  // namespace
}  // namespace znni
