#include "planner/network/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/planner/dense_net.hpp"

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Convolution sound_conv(std::int64_t f_out, Vec3 k) { return {f_out, k, Vec3::cube(1), {}}; }

// Returns conv - pool, then two branches of equal reach that are added: every kind of node.
Network sound() {
  Network network;
  network.name = "sound";
  network.nodes = {
      {"conv1", {Convolution{4, {1, 2, 3}, {1, 1, 2}, {ActivationKind::elu, 0.5F}}}, {0}},
      {"pool1", Pooling{PoolKind::average, {1, 2, 3}, {1, 2, 2}}, {1}},
      {"left", Convolution{6, {1, 2, 2}, {1, 2, 2}, {}}, {2}},
      {"right1", sound_conv(3, {1, 2, 2}), {2}},
      {"right2", sound_conv(6, {1, 2, 2}), {4}},
      {"sum", Add{{ActivationKind::relu, 0}}, {3, 5}},
      {"scale", ScaleShift{}, {6}},
      {"both", Concat{}, {7, 6, 3}},
      {"act", Activate{{ActivationKind::tanh, 0}}, {8}},
      {"out", AcrossChannels{}, {9}},
  };
  return network;
}

std::string failure(void (*change)(Network&)) {
  Network network = sound();
  change(network);
  const Result<void> checked = check(network);
  return checked ? "sound" : checked.error().message;
}

TEST(PlannerNetwork, IsBoundToItsWindowWhereItNormalisesOrPoolsAllVoxels) {
  Network network;
  network.nodes = {{"conv", sound_conv(6, {1, 2, 3}), {0}}, {"norm", ScaleShift{}, {1}}};
  EXPECT_FALSE(is_tile_bound(network));
  EXPECT_TRUE(is_dense(network));
  network.nodes[1].operation = Norm{.groups = 3};
  ASSERT_TRUE(check(network)) << check(network).error().message;
  EXPECT_TRUE(is_tile_bound(network));
  EXPECT_FALSE(is_dense(network));
  network.nodes[1].operation = GlobalPool{};
  ASSERT_TRUE(check(network)) << check(network).error().message;
  EXPECT_TRUE(is_tile_bound(network));
  EXPECT_FALSE(is_dense(network));
  EXPECT_EQ(reaches(network)[2], reaches(network)[1]);
  network.nodes[1].operation = Norm{.groups = 4};
  EXPECT_EQ(check(network).error().message, "node norm: normalises 6 channels in 4 groups, which does not divide");
}

TEST(PlannerNetwork, ReachesByHand) {
  const Network network = sound();
  ASSERT_TRUE(check(network)) << check(network).error().message;
  const std::vector<Reach> reach = reaches(network);
  ASSERT_EQ(reach.size(), 11U);
  EXPECT_EQ(reach[0], (Reach{Vec3::cube(1), Vec3::cube(1)}));
  EXPECT_EQ(reach[1], (Reach{{1, 2, 5}, Vec3::cube(1)}));
  EXPECT_EQ(reach[2], (Reach{{1, 3, 7}, {1, 2, 2}}));
  EXPECT_EQ(reach[4], (Reach{{1, 5, 9}, {1, 2, 2}}));
  EXPECT_EQ(reach[3], reach[5]);
  EXPECT_EQ(reach.back(), (Reach{{1, 7, 11}, {1, 2, 2}}));
}

TEST(PlannerNetwork, ChannelsReadersAndPoolings) {
  const Network network = sound();
  EXPECT_THAT(channels_of(network), ElementsAre(1, 4, 4, 6, 3, 6, 6, 6, 18, 18, 18));
  EXPECT_THAT(last_readers(network), ElementsAre(0, 1, 3, 7, 4, 5, 7, 7, 8, 9, 10));
  EXPECT_THAT(pooling_nodes(network), ElementsAre(1));
  EXPECT_EQ(find_node(network, network.nodes[1].name), 1U);
  EXPECT_EQ(find_node(network, "1"), 1U);
  EXPECT_FALSE(find_node(network, "99"));
}

TEST(PlannerNetwork, WeightBytes) {
  // conv1 1*4*6 + 4, left 4*6*4 + 6, right1 4*3*4 + 3, right2 3*6*4 + 6, scale 2*6.
  EXPECT_EQ(weight_bytes(sound()), 4 * (28 + 102 + 51 + 78 + 12));
}

TEST(PlannerNetwork, DescribedLineByLine) {
  EXPECT_THAT(
      describe(sound()),
      ElementsAre("conv1: conv 1 -> 4, k 1x2x3, dilation 1x1x2, elu 0.5 <- input",
                  "pool1: average pool 4, window 1x2x3, stride 1x2x2 <- conv1",
                  "left: conv 4 -> 6, k 1x2x2, dilation 1x2x2 <- pool1", "right1: conv 4 -> 3, k 1x2x2 <- pool1",
                  "right2: conv 3 -> 6, k 1x2x2 <- right1", "sum: add 6, relu <- left, right2",
                  "scale: scale and shift 6 <- sum", "both: concat <- scale, sum, left",
                  "act: activation 18, tanh <- both", "out: softmax 18 <- act"));
}

TEST(PlannerNetwork, DescriptionTellsNetworksApart) {
  const std::vector<std::string> own = describe(sound());
  Network other = sound();
  std::get<Convolution>(other.nodes[0].operation).activation.alpha = 0.5000001F;
  EXPECT_NE(describe(other), own);
  other = sound();
  std::swap(other.nodes[7].inputs[0], other.nodes[7].inputs[1]);
  EXPECT_NE(describe(other), own);
  other = sound();
  std::get<Pooling>(other.nodes[1].operation).kind = PoolKind::max;
  EXPECT_NE(describe(other), own);
}

TEST(PlannerNetwork, InputsThatDoNotExist) {
  EXPECT_THAT(failure([](Network& n) { n.nodes[3].inputs = {4}; }),
              HasSubstr("node right1: reads value 4; it may read [0, 4)"));
  EXPECT_THAT(failure([](Network& n) { n.nodes[0].inputs = {-1}; }), HasSubstr("node conv1: reads value -1"));
  EXPECT_THAT(failure([](Network& n) { n.nodes[0].inputs = {}; }), HasSubstr("node conv1: has 0 inputs; it needs 1"));
  EXPECT_THAT(failure([](Network& n) {
                n.nodes[1].inputs = {1, 1};
              }),
              HasSubstr("node pool1: has 2 inputs; it needs 1"));
  EXPECT_THAT(failure([](Network& n) { n.nodes[5].inputs = {3}; }),
              HasSubstr("node sum: has 1 inputs; it needs 2 or more"));
  EXPECT_THAT(failure([](Network& n) {
                n.nodes[4].inputs = {4, 3, 3};
              }),
              HasSubstr("node right2: has 3 inputs; it needs 1, or 2 where a residual is added"));
}

TEST(PlannerNetwork, Names) {
  EXPECT_THAT(failure([](Network& n) { n.nodes[4].name = ""; }), HasSubstr("node 4 has no name"));
  EXPECT_THAT(failure([](Network& n) { n.nodes[4].name = "conv1"; }),
              HasSubstr("node 4: the name conv1 is taken by an earlier node"));
  EXPECT_THAT(failure([](Network& n) { n.nodes[4].name = "input"; }),
              HasSubstr("node 4: the name input is the input's"));
  EXPECT_THAT(failure([](Network& n) { n.nodes[4].name = "a\nb"; }), HasSubstr("node 4 has control characters"));
  EXPECT_THAT(failure([](Network& n) { n.input_name = ""; }), HasSubstr("the input has no name"));
  EXPECT_THAT(failure([](Network& n) { n.output_name = ""; }), HasSubstr("the output has no name"));
}

TEST(PlannerNetwork, BranchesThatDoNotMeet) {
  EXPECT_THAT(
      failure([](Network& n) { std::get<Convolution>(n.nodes[4].operation).k.x = 3; }),
      HasSubstr("node sum: branches do not meet: left has field of view 1x7x11, stride 1x2x2, right2 has field of "
                "view 1x7x13, stride 1x2x2"));
  EXPECT_THAT(failure([](Network& n) {
                n.nodes[7].inputs = {7, 6, 3, 1};
              }),
              HasSubstr("node both: branches do not meet: scale has"));
  EXPECT_THAT(failure([](Network& n) { std::get<Convolution>(n.nodes[4].operation).f_out = 5; }),
              HasSubstr("node sum: adds 6 channels of left to 5 of right2"));
}

// right2 adds left to its own sums.
TEST(PlannerNetwork, AResidualMeetsWhatTheConvolutionWrites) {
  Network network = sound();
  network.nodes[4].inputs = {4, 3};
  ASSERT_TRUE(check(network)) << check(network).error().message;
  EXPECT_EQ(describe(network)[4], "right2: conv 3 -> 6, k 1x2x2, residual <- right1, left");
  EXPECT_EQ(reaches(network), reaches(sound()));
  EXPECT_EQ(weight_bytes(network), weight_bytes(sound()));
  network.nodes[4].inputs = {4, 4};
  EXPECT_THAT(check(network).error().message,
              HasSubstr("node right2: branches do not meet: its sums have field of view 1x7x11, stride 1x2x2, right1 "
                        "has field of view 1x5x9, stride 1x2x2"));
  network.nodes[4].inputs = {4, 3};
  std::get<Convolution>(network.nodes[4].operation).f_out = 5;
  EXPECT_THAT(check(network).error().message, HasSubstr("node right2: adds 6 channels of left to 5 of its own"));
}

TEST(PlannerNetwork, NodesWithoutAPathToTheOutput) {
  EXPECT_THAT(failure([](Network& n) {
                n.nodes.push_back({"other", AcrossChannels{}, {9}});
              }),
              HasSubstr("node out has no path to the output"));
  EXPECT_THAT(failure([](Network& n) { n.nodes.clear(); }), HasSubstr("the network has no nodes"));
}

TEST(PlannerNetwork, NumbersOutOfRange) {
  EXPECT_THAT(failure([](Network& n) { std::get<Convolution>(n.nodes[0].operation).k.y = 0; }),
              HasSubstr("node conv1: k.y = 0 is not in [1, 1048576]"));
  EXPECT_THAT(failure([](Network& n) { std::get<Convolution>(n.nodes[0].operation).dilation.z = -3; }),
              HasSubstr("node conv1: dilation.z = -3"));
  EXPECT_THAT(failure([](Network& n) { std::get<Convolution>(n.nodes[0].operation).f_out = 0; }),
              HasSubstr("node conv1: f_out = 0"));
  EXPECT_THAT(failure([](Network& n) { std::get<Pooling>(n.nodes[1].operation).window.x = 0; }),
              HasSubstr("node pool1: window.x = 0"));
  EXPECT_THAT(failure([](Network& n) { std::get<Pooling>(n.nodes[1].operation).stride.x = saturated; }),
              HasSubstr("node pool1: stride.x = 9223372036854775807"));
  EXPECT_THAT(failure([](Network& n) { n.f_in = 0; }), HasSubstr("f_in = 0"));
  EXPECT_THAT(failure([](Network& n) { n.spatial_rank = 4; }), HasSubstr("spatial rank 4 is not in [1, 3]"));
  EXPECT_THAT(failure([](Network& n) {
                std::get<Activate>(n.nodes[8].operation).activation.alpha = std::numeric_limits<float>::quiet_NaN();
              }),
              HasSubstr("node act: alpha of the activation is not finite"));
}

// Returns two branches, of which one has lost its border to convolutions and the other to a crop.
Network cropped(Vec3 begin, Vec3 end) {
  Network network;
  network.nodes = {{"pool", Pooling{}, {0}},
                   {"a", sound_conv(1, {1, 3, 3}), {1}},
                   {"b", sound_conv(1, {3, 3, 1}), {2}},
                   {"crop", Crop{begin, end}, {1}},
                   {"sum", Add{}, {3, 4}}};
  return network;
}

TEST(PlannerNetwork, ACropReachesAsFarAsWhatItTakesAway) {
  const Network network = cropped({1, 2, 0}, {1, 2, 2});
  ASSERT_TRUE(check(network)) << check(network).error().message;
  EXPECT_EQ(reaches(network)[4], (Reach{{6, 10, 6}, Vec3::cube(2)}));
  EXPECT_EQ(describe(network)[3], "crop: crop 1, begin 1x2x0, end 1x2x2 <- pool");
  EXPECT_THAT(check(cropped({1, 2, 0}, {1, 2, 1})).error().message, HasSubstr("node sum: branches do not meet"));
  EXPECT_THAT(check(cropped({-1, 0, 0}, {})).error().message,
              HasSubstr("node crop: begin.z = -1 is not in [0, 1048576]"));
  EXPECT_THAT(check(cropped({}, {0, 0, saturated})).error().message,
              HasSubstr("node crop: end.x = 9223372036854775807"));
  Network flat = cropped({1, 2, 0}, {1, 2, 2});
  flat.spatial_rank = 2;
  flat.nodes = {flat.nodes[3]};
  flat.nodes[0].inputs = {0};
  EXPECT_THAT(check(flat).error().message, HasSubstr("node crop: begin.z = 1 is not in [0, 0]"));
}

// Extents that fit one by one but not together.
TEST(PlannerNetwork, ProductsOutOfRange) {
  const Vec3 wide{1, 1, std::int64_t{1} << 20};
  Network network;
  network.nodes = {{"a", Convolution{1, wide, wide, {}}, {0}}};
  EXPECT_THAT(check(network).error().message, HasSubstr("node a: field of view"));
  network.nodes = {{"a", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(1 << 10)}, {0}},
                   {"b", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(1 << 10)}, {1}}};
  EXPECT_THAT(check(network).error().message, HasSubstr("node b: field of view"));
  network.nodes = {{"a", sound_conv(1 << 24, Vec3::cube(1)), {0}}, {"b", sound_conv(1 << 24, Vec3::cube(64)), {1}}};
  EXPECT_THAT(check(network).error().message, HasSubstr("node b: the network has more than 2^58 parameters"));
  network.nodes = {{"a", sound_conv(1 << 24, Vec3::cube(1)), {0}}, {"b", Concat{}, {1, 1}}};
  EXPECT_THAT(check(network).error().message, HasSubstr("node b: writes 33554432 channels"));
}

TEST(PlannerNetwork, TwoDimensionalNetsHaveWindowsOfOneInZ) {
  Network network = sound();
  network.spatial_rank = 2;
  EXPECT_TRUE(check(network));
  std::get<Convolution>(network.nodes[0].operation).k.z = 2;
  EXPECT_THAT(check(network).error().message, HasSubstr("node conv1: k.z = 2 is not in [1, 1]"));
}

TEST(PlannerNetwork, OneDimensionalNetsHaveWindowsOfOneInZAndY) {
  Network network;
  network.spatial_rank = 1;
  network.nodes = {{"conv", sound_conv(2, {1, 1, 3}), {0}}};
  EXPECT_TRUE(check(network));
  std::get<Convolution>(network.nodes[0].operation).k.y = 2;
  EXPECT_THAT(check(network).error().message, HasSubstr("node conv: k.y = 2 is not in [1, 1]"));
}

TEST(PlannerNetwork, RandomNetsAreSound) {
  for (int i = 0; i < test::case_count(200); ++i) {
    test::Random random(test::base_seed() * 1000 + static_cast<std::uint64_t>(i));
    const Network network = test::random_network(random);
    const Result<void> checked = check(network);
    ASSERT_TRUE(checked) << "case " << i << ": " << checked.error().message;
    EXPECT_TRUE(check_weights(network, random_weights(network, 1)));
  }
}

Network framed_pair() {
  Network network;
  network.nodes = {{"a", sound_conv(2, Vec3::cube(3)), {0}}, {"b", sound_conv(1, Vec3::cube(3)), {1}}};
  network.frame = {Vec3::cube(2), Vec3::cube(2)};
  network.nodes[0].outside = {Vec3::cube(1), Vec3::cube(1)};
  return network;
}

std::string why_not(const Network& network) {
  const Result<void> checked = check(network);
  return checked ? "" : checked.error().message;
}

TEST(PlannerNetwork, AFrameMakesTheOutputAsLargeAsTheVolume) {
  EXPECT_EQ(why_not(framed_pair()), "");
  EXPECT_EQ(framed(framed_pair(), {1, 2, 3}), (Vec3{5, 6, 7}));
  EXPECT_EQ(lost_extent(framed_pair()), Vec3::cube(1));
}

// Padding behind a crop stands where the volume has voxels, so that there is no frame.
TEST(PlannerNetwork, PadsWithAFrameOrWithoutOne) {
  EXPECT_EQ(padded_axes(sound()), Vec3{});
  EXPECT_EQ(padded_axes(framed_pair()), Vec3::cube(1));
  Network network;
  network.nodes = {{"crop", Crop{}, {0}, {{0, 0, 1}, {}}}, {"conv", sound_conv(1, {1, 1, 2}), {1}}};
  EXPECT_EQ(why_not(network), "");
  EXPECT_EQ(padded_axes(network), (Vec3{0, 0, 1}));
  EXPECT_FALSE(is_dense(network));
}

TEST(PlannerNetwork, BordersAreChecked) {
  Network network = framed_pair();
  network.nodes[0].outside.begin.y = -1;
  EXPECT_THAT(why_not(network), HasSubstr("node a: outside.begin.y = -1 is not in [0, 1048576]"));
  network = framed_pair();
  network.nodes[0].beyond = {{-(1 << 20), 0, 0}, {0, 1 << 20, 0}};
  EXPECT_EQ(why_not(network), "");
  network.nodes[0].beyond.end.y += 1;
  EXPECT_THAT(why_not(network), HasSubstr("node a: beyond.end.y = 1048577 is not in [0, 1048576]"));
  network.nodes[0].beyond = {{0, 0, std::numeric_limits<std::int64_t>::min()}, {}};
  EXPECT_THAT(why_not(network), HasSubstr("node a: beyond is below -2^20"));
  network = framed_pair();
  network.spatial_rank = 2;
  network.nodes[0].operation = network.nodes[1].operation = sound_conv(1, {1, 3, 3});
  network.nodes[0].outside = {};
  EXPECT_THAT(why_not(network), HasSubstr("frame.begin.z = 2 is not in [0, 0]"));
  network = framed_pair();
  network.nodes[0].outside = {};
  network.frame = {{0, -1, 0}, {}};
  EXPECT_THAT(why_not(network), HasSubstr("frame.begin.y = -1 is not in [0, 1048576]"));
  network = framed_pair();
  network.output_stride = {1, 1, 2};
  EXPECT_THAT(why_not(network), HasSubstr("an output stride of 1x1x2 does not divide the factor"));
  network.output_stride = {1, 1, 0};
  EXPECT_THAT(why_not(network), HasSubstr("an output stride of 1x1x0 does not divide the factor"));
  network = framed_pair();
  network.frame.end.x = 3;
  EXPECT_THAT(why_not(network), HasSubstr("the output is larger than the volume"));
  network = framed_pair();
  network.nodes.push_back({"pool", Pooling{}, {2}});
  EXPECT_THAT(why_not(network), HasSubstr("a node pads, and the output has a stride of 2x2x2"));
}

}  // namespace
}  // namespace znni
