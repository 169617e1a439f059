#include "planner/geometry/closed_axes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/geometry/geometry.hpp"
#include "planner/network/padding.hpp"
#include "planner/network/stacks.hpp"
#include "planner/network/value_windows.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

constexpr Vec3 along_x = {0, 0, 1};

Convolution conv_operation(std::int64_t k, std::int64_t stride = 1) {
  Convolution made;
  made.k = Vec3::cube(k);
  made.stride = Vec3::cube(stride);
  return made;
}

Border same(std::int64_t pad) { return {Vec3::cube(pad), Vec3::cube(pad)}; }

Network framed_net(std::vector<Node> nodes, const std::vector<Border>& pads) {
  Network network;
  network.nodes = std::move(nodes);
  return without_padding({network, {}}, pads).value().network;
}

GeometryChoice patch_of(Vec3 pass_input) {
  GeometryChoice choice;
  choice.pass_input = pass_input;
  return choice;
}

// Returns two convolutions that pad, and the sum of what the first writes with what the second does.
Network residual() {
  return framed_net({{"a", conv_operation(3), {0}}, {"b", conv_operation(5), {1}}, {"sum", Add{}, {1, 2}}},
                    {same(1), same(2), {}});
}

TEST(PlannerClosedAxes, AMarginIsWhatReadersPad) {
  const Network network = residual();  // a, b, a crop of a, sum
  ASSERT_EQ(network.nodes.size(), 4U);
  const ClosedAxes closed = close_axes(network, along_x);
  // Only the padding of `a` is read of the volume's frame, which is 3 wide.
  EXPECT_EQ(closed.cuts[0], (Border{{0, 0, 2}, {0, 0, 2}}));
  EXPECT_EQ(margin_of(closed, 0), Border{});
  EXPECT_EQ(margin_of(closed, 1), (Border{{0, 0, 2}, {0, 0, 2}}));
  for (int value = 2; value <= 4; ++value) EXPECT_EQ(margin_of(closed, value), Border{}) << value;
  EXPECT_EQ(read_beyond(closed, 1, 0, 1), (Border{{0, 0, 2}, {0, 0, 2}}));
  EXPECT_EQ(read_beyond(closed, 2, 0, 1), Border{});
  EXPECT_EQ(read_beyond(closed, 3, 1, 3), Border{});
}

TEST(PlannerClosedAxes, NoValueIsLargerThanOfTheVolumeAlone) {
  const Network network = residual();
  const Vec3 volume = {20, 30, 40};
  GeometryChoice choice = patch_of(framed(network, volume));
  const Geometry open = make_geometry(network, choice).value();
  choice.closed = {0, 1, 1};
  const Geometry closed = make_geometry(network, choice).value();
  EXPECT_EQ(open.values[1].n, (Vec3{24, 34, 44}));
  EXPECT_EQ(closed.values[1].n, (Vec3{24, 30, 40}));
  EXPECT_EQ(tensor_shape(closed, 1).n, (Vec3{24, 34, 44}));
  EXPECT_EQ(closed.values[0].n, (Vec3{26, 32, 42}));
  EXPECT_EQ(closed.read_begin, (Vec3{0, 2, 2}));
  EXPECT_EQ(closed.patch_input, open.patch_input);
  EXPECT_EQ(closed.patch_output, volume);
  EXPECT_EQ(closed.values.back(), open.values.back());
}

// What a stack pads it neither reads beyond the border nor needs a margin for.
TEST(PlannerClosedAxes, StacksReadTheVolumeAlone) {
  LoadedNetwork loaded;
  const Pooling pool{PoolKind::max, Vec3::cube(3), Vec3::cube(1)};
  const Activate relu{{ActivationKind::relu, 0}};
  loaded.network.nodes = {
      {"p", pool, {0}}, {"a", relu, {1}}, {"c", conv_operation(3), {2}}, {"q", pool, {3}}, {"b", relu, {4}}};
  loaded = without_padding(loaded, {same(1), {}, same(1), same(1), {}}).value();
  stack_poolings(loaded);
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  const Vec3 volume = {20, 30, 40};
  GeometryChoice choice = patch_of(framed(loaded.network, volume));
  choice.closed = {0, 1, 1};
  const Geometry geometry = make_geometry(loaded.network, choice).value();
  EXPECT_EQ(geometry.values[0].n, (Vec3{26, 30, 40}));
  EXPECT_EQ(geometry.read_begin, (Vec3{0, 3, 3}));
  EXPECT_EQ(geometry.values[1].n, (Vec3{24, 30, 40}));
  EXPECT_EQ(tensor_shape(geometry, 1).n, (Vec3{24, 32, 42}));  // the convolution pads
  EXPECT_EQ(tensor_shape(geometry, 2).n, (Vec3{22, 30, 40}));
  EXPECT_EQ(geometry.values[3].n, volume);
  const auto& stack = std::get<StackProblem>(geometry.problems[0]);
  EXPECT_EQ(stack.closed, (Vec3{0, 1, 1}));
  EXPECT_EQ(stack.in.n, (Vec3{26, 30, 40}));
}

// The input has zeros around it for another reader, and the stack passes over them.
TEST(PlannerClosedAxes, StacksPassOverZerosThatOthersRead) {
  LoadedNetwork loaded;
  const Pooling mean{PoolKind::average, Vec3::cube(3), Vec3::cube(1)};
  loaded.network.nodes = {{"p", mean, {0}},
                          {"a", Activate{{ActivationKind::relu, 0}}, {1}},
                          {"c", conv_operation(3), {0}},
                          {"sum", Add{}, {2, 3}}};
  loaded = without_padding(loaded, {same(1), {}, same(1), {}}).value();
  stack_poolings(loaded);
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  GeometryChoice choice = patch_of(framed(loaded.network, Vec3::cube(9)));
  choice.closed = along_x;
  const Geometry geometry = make_geometry(loaded.network, choice).value();
  EXPECT_EQ(geometry.values[0].n, Vec3::cube(11));
  EXPECT_EQ(input_shape(geometry.problems[0], 0).n, (Vec3{11, 11, 9}));
  EXPECT_EQ(around_read(geometry, 0, 0, 0), (Border{along_x, along_x}));
}

TEST(PlannerClosedAxes, StridesAndUpsamplingKeepTheirVoxels) {
  Upsample twice;
  twice.factor = Vec3::cube(2);
  const Network network =
      framed_net({{"down", conv_operation(3, 2), {0}}, {"up", twice, {1}}, {"out", conv_operation(3), {2}}},
                 {same(1), {}, same(1)});
  const Vec3 volume = Vec3::cube(16);
  GeometryChoice choice = patch_of(framed(network, volume));
  choice.closed = Vec3::cube(1);
  const Geometry geometry = make_geometry(network, choice).value();
  EXPECT_EQ(geometry.values[1].n, Vec3::cube(8));
  // The frame is a whole voxel of `down` wide: `out` reads a crop of what `up` makes.
  EXPECT_EQ(geometry.values[2].n, Vec3::cube(16));
  EXPECT_EQ(geometry.values[3].n, Vec3::cube(16));
  EXPECT_EQ(tensor_shape(geometry, 3).n, Vec3::cube(18));
  EXPECT_EQ(geometry.values[4].n, Vec3::cube(16));
}

TEST(PlannerClosedAxes, AreThoseAlongWhichSomethingIsSaved) {
  const Vec3 volume = {20, 30, 40};
  GeometryChoice choice = patch_of(framed(residual(), volume));
  EXPECT_EQ(axes_to_close(residual(), choice, framed(residual(), volume)), Vec3::cube(1));
  choice.pass_input.y -= 1;
  EXPECT_EQ(axes_to_close(residual(), choice, framed(residual(), volume)), (Vec3{1, 0, 1}));
  choice.streamed = true;
  EXPECT_EQ(axes_to_close(residual(), choice, framed(residual(), volume)), along_x);
  // The first convolution alone pads: zeros around the volume are read in any case.
  const Network first = framed_net({{"a", conv_operation(3), {0}}, {"b", conv_operation(1), {1}}}, {same(1), {}});
  EXPECT_EQ(axes_to_close(first, patch_of(framed(first, volume)), framed(first, volume)), Vec3{});
}

// A file may say that nodes reach beyond the volume where nothing pads them.
TEST(PlannerClosedAxes, AreRefusedWhereWhatIsCutIsNoPadding) {
  Network network = residual();
  network.nodes[0].outside = {};
  GeometryChoice choice = patch_of(framed(network, Vec3::cube(9)));
  choice.closed = along_x;
  EXPECT_THAT(make_geometry(network, choice).error().message,
              HasSubstr("closed along x, where the readers of node a read what does not pad it"));
  EXPECT_EQ(axes_to_close(network, choice, framed(network, Vec3::cube(9))), Vec3{});
  network = residual();
  network.nodes.back().beyond = {along_x, along_x};
  EXPECT_THAT(make_geometry(network, choice).error().message, HasSubstr("the output reaches beyond the volume"));
}

TEST(PlannerClosedAxes, AreRefusedWhereNothingPads) {
  Network network;
  network.nodes = {{"a", conv_operation(3), {0}}};
  GeometryChoice choice = patch_of(Vec3::cube(9));
  choice.closed = along_x;
  EXPECT_THAT(make_geometry(network, choice).error().message,
              HasSubstr("closed along x, where the network does not pad"));
  choice = patch_of(framed(residual(), Vec3::cube(9)));
  choice.closed = {0, 2, 0};
  EXPECT_THAT(make_geometry(residual(), choice).error().message, HasSubstr("closed.y is 0 or 1"));
  choice.closed = {1, 0, 0};
  choice.streamed = true;
  EXPECT_THAT(make_geometry(residual(), choice).error().message,
              HasSubstr("closed along z, along which it is streamed"));
}

TEST(PlannerClosedAxes, AreNamedInTheirOrder) {
  EXPECT_EQ(axes_text({}), "");
  EXPECT_EQ(axes_text({0, 1, 1}), "yx");
  EXPECT_EQ(axes_text(Vec3::cube(1)), "zyx");
}

}  // namespace
}  // namespace znni
