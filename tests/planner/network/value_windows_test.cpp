#include "planner/network/value_windows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

Border same(std::int64_t border) { return {Vec3::cube(border), Vec3::cube(border)}; }

Node conv_node(std::string name, std::int64_t k, int input, std::int64_t stride = 1) {
  return {std::move(name), Convolution{2, Vec3::cube(k), Vec3::cube(1), {}, Vec3::cube(stride)}, {input}};
}

Network network_of(std::vector<Node> nodes) {
  Network network;
  network.f_in = 2;
  network.nodes = std::move(nodes);
  return network;
}

std::string refusal(const Network& network, const std::vector<Border>& pads) {
  const Result<ValueWindows> found = find_windows(network, pads, {});
  return found ? "" : found.error().message;
}

TEST(PlannerValueWindows, GrowTowardsTheInput) {
  const Network network = network_of({conv_node("a", 3, 0), conv_node("b", 5, 1)});
  const Result<ValueWindows> found = find_windows(network, {same(1), same(2)}, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->frame(), same(3));
  EXPECT_EQ(found->values[1].begin, Vec3::cube(-2));
  EXPECT_EQ(found->values[1].end, found->extents[1] + Vec3::cube(2));
  EXPECT_EQ(found->values[2].begin, Vec3{});
}

TEST(PlannerValueWindows, StridesReadNoMoreThanTheyNeed) {
  // Half the extent, whatever lies behind the last window: k 3, stride 2, a pad of 1 on both sides.
  const Network network = network_of({conv_node("down", 3, 0, 2), {"up", Upsample{}, {1}}});
  const Result<ValueWindows> found = find_windows(network, {same(1), {}}, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->frame(), (Border{Vec3::cube(1), {}}));
  EXPECT_EQ(found->extents[1], found->extents[0] / Vec3::cube(2));
  EXPECT_EQ(found->extents[2], found->extents[0]);
}

TEST(PlannerValueWindows, UpsamplingsWriteWholeVoxels) {
  const Network network = network_of({conv_node("down", 2, 0, 2), {"up", Upsample{}, {1}}, conv_node("last", 3, 2)});
  const Result<ValueWindows> found = find_windows(network, {{}, {}, same(1)}, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->read_by(network, {{}, {}, same(1)}, 2, 0).begin, Vec3::cube(-1));
  EXPECT_EQ(found->values[2].begin, Vec3::cube(-2));
  EXPECT_EQ(found->values[1].begin, Vec3::cube(-1));
  EXPECT_EQ(found->frame(), same(2));
}

TEST(PlannerValueWindows, TheResidueIsOneForWhichBranchesMeet) {
  // A skip that is cropped for odd extents.
  Network network = network_of({conv_node("down", 3, 0, 2),
                                {"up", Upsample{}, {1}},
                                {"crop", Crop{{}, Vec3::cube(1)}, {0}},
                                {"sum", Add{}, {2, 3}}});
  const Result<ValueWindows> found = find_windows(network, std::vector<Border>(4), {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->extents[0] % Vec3::cube(2), Vec3::cube(1));
  network.nodes[2].operation = Crop{{}, Vec3::cube(5)};
  EXPECT_THAT(refusal(network, std::vector<Border>(4)), HasSubstr("node sum: branches do not meet"));
}

TEST(PlannerValueWindows, TheOutputsStrideIsWhatNothingUpsamples) {
  const Network network = network_of(
      {conv_node("down", 2, 0, 4), {"up", Upsample{}, {1}}, {"pool", Pooling{}, {2}}, conv_node("last", 3, 3)});
  EXPECT_EQ(find_output_stride(network, std::vector<Border>(4)).value(), Vec3::cube(4));
  EXPECT_EQ(find_output_stride(network_of({conv_node("a", 3, 0)}), {same(1)}).value(), Vec3::cube(1));
}

TEST(PlannerValueWindows, RefusesWhatIsNotDefined) {
  EXPECT_THAT(refusal(network_of({{"up", Upsample{}, {0}}}), {{}}),
              HasSubstr("node up: upsamples by 2x2x2, but its input has a stride of 1x1x1"));
  EXPECT_THAT(refusal(network_of({conv_node("down", 2, 0, 2), {"sum", Add{}, {0, 1}}}), {{}, {}}),
              HasSubstr("one has a stride of 1x1x1, another 2x2x2"));
  EXPECT_THAT(refusal(network_of({conv_node("a", 64, 0, 64), conv_node("b", 65, 1, 65)}), {{}, {}}),
              HasSubstr("beyond 2^12"));
}

TEST(PlannerValueWindows, LinearUpsamplingsReadOneVoxelBeside) {
  const Network network = network_of({conv_node("down", 2, 0, 2),
                                      {"up", Upsample{{2, 1, 2}, UpsampleKind::linear}, {1}},
                                      {"up y", Upsample{{1, 2, 1}, UpsampleKind::nearest}, {2}}});
  const Border beside{{1, 0, 1}, {1, 0, 1}};
  const Result<ValueWindows> found = find_windows(network, {{}, beside, {}}, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->extents[3], found->extents[0]);
  EXPECT_EQ(found->values[1].begin, (Vec3{-1, 0, -1}));
  EXPECT_EQ(found->values[1].end, (found->extents[1] + Vec3{1, 0, 1}));
}

TEST(PlannerValueWindows, JoinedValuesMayHaveSeveralStrides) {
  Network network = network_of({conv_node("a", 3, 0), {"pool", Pooling{}, {1}}, {"join", Concat{}, {2, 0}}});
  const std::vector<Border> pads = {same(1), {}, {}};
  EXPECT_TRUE(find_joined_strides(network, pads).value().empty()) << "no outputs";
  network.outputs = {{"low", 2}, {"in", 2}};
  EXPECT_EQ(find_joined_strides(network, pads).value(), (std::vector<Vec3>{Vec3::cube(2), Vec3::cube(1)}));
  network.outputs.push_back({"other", 1});
  EXPECT_TRUE(find_joined_strides(network, pads).value().empty()) << "outputs that it does not join";
}

}  // namespace
}  // namespace znni
