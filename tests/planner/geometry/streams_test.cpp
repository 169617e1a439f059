#include "planner/geometry/streams.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/planner/dense_net.hpp"
#include "tests/planner/random_modes.hpp"

namespace znni {
namespace {

using test::Random;
using testing::ElementsAre;
using testing::HasSubstr;

Convolution conv_operation(std::int64_t k, std::int64_t dilation = 1) {
  return {2, Vec3::cube(k), Vec3::cube(dilation), {ActivationKind::relu}};
}

// Returns conv 3 - pool 2 - conv 4, dilated by 2 - pool 3 of stride 1: field of view 3, 4, 16, 20; stride 2.
Network streamed_chain() {
  Network network;
  network.nodes = {{"conv1", conv_operation(3), {0}},
                   {"pool1", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2)}, {1}},
                   {"conv2", conv_operation(4, 2), {2}},
                   {"pool2", Pooling{PoolKind::max, Vec3::cube(3), Vec3::cube(1)}, {3}}};
  return network;
}

GeometryChoice stream_of(std::int64_t planes, std::int64_t stem_slab = 0) {
  return {{planes, 25, 25}, 1, {PoolMode::fragments, PoolMode::fragments}, stem_slab, true};
}

std::string failure_of(const Network& network, const GeometryChoice& choice) {
  const Result<Geometry> geometry = make_geometry(network, choice);
  return geometry ? "no failure" : geometry.error().message;
}

TEST(PlannerStreams, EveryNodeKeepsWhatItReadsAgain) {
  const Geometry geometry = *make_geometry(streamed_chain(), stream_of(6));
  EXPECT_THAT(geometry.histories.read, ElementsAre(2, 1, 6, 2));
  EXPECT_THAT(geometry.histories.kept, ElementsAre(2, 1, 6, 2, 0));
  EXPECT_THAT(geometry.histories.idle, ElementsAre(2, 3, 15, 19));
  std::vector<std::int64_t> planes;
  for (const Shape5& value : geometry.values) planes.push_back(value.n.z);
  EXPECT_THAT(planes, ElementsAre(6, 6, 3, 3, 3));
  EXPECT_EQ(input_shape(geometry.problems[2], 0), (Shape5{8, 2, {3 + 6, 11, 11}}));
  EXPECT_EQ(tensor_shape(geometry, 2), (Shape5{8, 2, {3 + 6, 11, 11}}));
  EXPECT_EQ(history_bytes(geometry, 2, {}), 4 * 8 * 2 * 6 * 11 * 11);
  EXPECT_EQ(geometry.patch_input, (Vec3{6 + 19, 25, 25}));
  EXPECT_EQ(geometry.patch_output, (Vec3{6, 6, 6}));
  EXPECT_EQ(geometry.read_begin, (Vec3{19, 0, 0}));
}

TEST(PlannerStreams, AStemInSlabsKeepsOnlyItsInput) {
  const Geometry geometry = *make_geometry(streamed_chain(), stream_of(12, 2));
  EXPECT_THAT(geometry.histories.read, ElementsAre(3, 0, 6, 2));
  EXPECT_THAT(geometry.histories.kept, ElementsAre(3, 0, 6, 2, 0));
  EXPECT_THAT(geometry.histories.idle, ElementsAre(3, 3, 15, 19));
  EXPECT_EQ(geometry.stem.input.n.z, 2 * 2 + 3);
  EXPECT_THAT(geometry.stem.begins, ElementsAre(0, 2, 4));
  EXPECT_EQ(geometry.values[2].n.z, 6);
  EXPECT_EQ(history_runs(geometry, 2), 1);
}

// The largest reader decides; the others skip what is there for it.
TEST(PlannerStreams, ReadersOfOneValueShareItsHistory) {
  Network network;
  network.nodes = {{"a", conv_operation(1), {0}},
                   {"b", conv_operation(3), {1}},
                   {"c", conv_operation(2, 2), {1}},
                   {"sum", Add{}, {2, 3}}};
  const Geometry geometry = *make_geometry(network, {{4, 9, 9}, 1, {}, 0, true});
  EXPECT_THAT(geometry.histories.kept, ElementsAre(0, 2, 0, 0, 0));
  EXPECT_EQ(around_read(geometry, 1, 0, 1).begin.z, 0);
  network.nodes[1] = {"b", conv_operation(2), {1}};
  network.nodes[3] = {"more", conv_operation(2), {2}};
  network.nodes.push_back({"sum", Add{}, {4, 3}});
  const Geometry uneven = *make_geometry(network, {{4, 9, 9}, 1, {}, 0, true});
  EXPECT_EQ(uneven.histories.kept[1], 2);
  EXPECT_EQ(around_read(uneven, 1, 0, 1).begin.z, 1);
  EXPECT_EQ(around_read(uneven, 2, 0, 1).begin.z, 0);
}

// Newer planes than those it gives; what it takes away at its begin has gone by.
TEST(PlannerStreams, ACropReadsThePlanesThatItTakesAwayBehind) {
  Network network;
  network.nodes = {{"a", conv_operation(1), {0}},
                   {"b", conv_operation(4), {1}},
                   {"crop", Crop{{1, 0, 2}, {2, 3, 1}}, {1}},
                   {"sum", Add{}, {2, 3}}};
  const Geometry geometry = *make_geometry(network, {{4, 9, 9}, 1, {}, 0, true});
  EXPECT_THAT(geometry.histories.kept, ElementsAre(0, 3, 0, 0, 0));
  EXPECT_THAT(geometry.histories.read, ElementsAre(0, 3, 2, 0));
  EXPECT_EQ(around_read(geometry, 2, 0, 1).begin.z, 1);
  EXPECT_EQ(geometry.problems[2], (LayerProblem(CropProblem{{1, 2, {6, 9, 9}}, {0, 0, 2}, {2, 3, 1}})));
  EXPECT_EQ(geometry.values[3], (Shape5{1, 2, {4, 6, 6}}));
}

TEST(PlannerStreams, GroupsHaveAHistoryForEachRun) {
  GeometryChoice choice = stream_of(6);
  choice.modes[0] = {{2, 1, 1}, true};
  const Geometry held = *make_geometry(streamed_chain(), choice);
  EXPECT_EQ(history_runs(held, 1), 1);
  EXPECT_EQ(history_runs(held, 2), 2);
  EXPECT_EQ(history_bytes(held, 2, {}), 2 * 4 * 4 * 2 * 6 * 11 * 11);
  EXPECT_EQ(held.phases, 1);
  EXPECT_EQ(phases_of(choice), 1);
  EXPECT_TRUE(has_one_phase(choice.modes));
}

TEST(PlannerStreams, PhasesRunByThemselvesAndKeepTheirOwnAlone) {
  GeometryChoice choice = stream_of(6);
  choice.modes[0] = {{1, 2, 2}, false};
  choice.pass_input = {6, 24, 24};
  const Geometry stream = *make_geometry(streamed_chain(), choice);
  EXPECT_EQ(stream.phases, 4);
  EXPECT_EQ(phases_of(choice), 4);
  EXPECT_EQ(stream.windows, 1);
  EXPECT_EQ(stream.passes.size(), 4U);
  EXPECT_EQ(pass_count(stream), 1U);
  EXPECT_EQ(stream.passes[1].shift, (Vec3{0, 0, 1}));
  EXPECT_THAT(stream.runs, ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(history_runs(stream, 0), 1);
  EXPECT_EQ(history_bytes(stream, 2, {}), 4 * 2 * 2 * 6 * 11 * 11);
  EXPECT_EQ(stream.patch_output, (Vec3{6, 6, 6}));
  EXPECT_EQ(written_voxels(stream), 6 * 6 * 6 / 4);
  EXPECT_FALSE(has_one_phase(choice.modes));
  choice.modes[0] = {{1, 2, 1}, false};
  choice.modes[1] = {{1, 1, 1}, true};
  choice.pass_input.x = 25;
  EXPECT_EQ(make_geometry(streamed_chain(), choice)->phases, 2);
  EXPECT_EQ(phases_of(choice), 2);
  choice.streamed = false;
  choice.pass_input.z = 25;
  const Geometry patch = *make_geometry(streamed_chain(), choice);
  EXPECT_EQ(patch.phases, 1);
  EXPECT_EQ(phases_of(choice), 1);
  EXPECT_EQ(patch.windows, 2);
  EXPECT_EQ(pass_count(patch), 2U);
  EXPECT_EQ(written_voxels(patch), 6 * 6 * 6);
}

TEST(PlannerStreams, NothingReadsWhatAnIdleNodeDidNotWrite) {
  Network network;
  network.nodes = {{"down", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2), true}, {0}},
                   {"below", Convolution{1, Vec3::cube(3), Vec3::cube(1), {}}, {1}},
                   {"up", Upsample{Vec3::cube(2), UpsampleKind::nearest}, {2}}};
  ASSERT_TRUE(check(network)) << check(network).error().message;
  const Result<Geometry> stream = make_geometry(network, {{4, 8, 8}, 1, {}, 0, true});
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(reaches(network).back().fov, Vec3::cube(5));
  EXPECT_THAT(stream->histories.idle, ElementsAre(1, 5, 5));
  network.nodes.push_back({"last", Convolution{1, Vec3::cube(4), Vec3::cube(1), {}}, {3}});
  EXPECT_THAT(make_geometry(network, {Vec3::cube(8), 1, {}}).error().message,
              HasSubstr("a patch of 8x8x8 writes less than the period of the strides, 2x2x2"));
}

TEST(PlannerStreams, LinearUpsamplingsReadTwoPlanesOfEarlierSteps) {
  Network network;
  network.nodes = {{"down", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2), true}, {0}},
                   {"up", Upsample{Vec3::cube(2), UpsampleKind::linear}, {1}}};
  const Result<Geometry> stream = make_geometry(network, {{4, 12, 12}, 1, {}, 0, true});
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_THAT(stream->histories.read, ElementsAre(0, 2));
  EXPECT_THAT(stream->histories.kept, ElementsAre(0, 2, 0));
  EXPECT_EQ(stream->values.back().n.z, 4);
}

// A plane at the border may come in another step than its copy.
TEST(PlannerStreams, PlanesThatAreRepeatedMustBeKept) {
  Network network;
  network.nodes = {{"down", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2), true}, {0}},
                   {"up", Upsample{Vec3::cube(2), UpsampleKind::linear}, {1}}};
  network.frame = {{2, 0, 0}, {2, 0, 0}};
  network.nodes[0].outside = {{1, 0, 0}, {1, 0, 0}};
  network.nodes[0].outside_kind = OutsideKind::edge;
  const GeometryChoice stream{{4, 12, 12}, 1, {}, 0, true};
  EXPECT_TRUE(can_stream(network, {}));
  EXPECT_TRUE(make_geometry(network, stream));
  std::get<Upsample>(network.nodes[1].operation).kind = UpsampleKind::nearest;
  EXPECT_FALSE(can_stream(network, {}));
  network.nodes[0].outside_kind = OutsideKind::reflect;
  EXPECT_FALSE(can_stream(network, {}));
  EXPECT_THAT(failure_of(network, stream),
              HasSubstr("node down repeats planes at the border, and what reads it keeps none of them"));
}

TEST(PlannerStreams, WhatCannotBeStreamedIsRefusedWithTheReason) {
  GeometryChoice choice = stream_of(5);
  EXPECT_THAT(failure_of(streamed_chain(), choice), HasSubstr("5 new planes a step; a multiple of the stride 2"));
  choice = stream_of(6);
  choice.S = 2;
  EXPECT_THAT(failure_of(streamed_chain(), choice), HasSubstr("2 patches are computed together"));
  for (const PoolingMode& mode : {PoolingMode(PoolMode::plain), PoolingMode({2, 1, 1}, false)}) {
    choice = stream_of(6);
    choice.modes[0] = mode;
    EXPECT_THAT(failure_of(streamed_chain(), choice),
                HasSubstr("node pool1 does not make all its fragments of one window"));
    EXPECT_FALSE(can_stream(streamed_chain(), choice.modes));
  }
  choice = stream_of(6, 9);
  EXPECT_THAT(failure_of(streamed_chain(), choice), HasSubstr("slabs of 9 planes of 3"));
  choice = stream_of(6);
  choice.modes[1] = PoolMode::plain;  // of stride 1: nothing is lost
  EXPECT_TRUE(make_geometry(streamed_chain(), choice));
}

class RandomStreams : public testing::TestWithParam<int> {};

// A step writes each of its dense voxels once in all phases, whatever the modes, and as many in one as in the next.
TEST_P(RandomStreams, EveryDenseVoxelOfAStepIsWrittenOnce) {
  Random random(test::base_seed() * 1000 + static_cast<std::uint64_t>(GetParam()));
  const Network network = test::random_network(random);
  const std::vector<PoolingMode> modes = test::random_modes(network, random);
  if (!can_stream(network, modes)) return;
  GeometryChoice choice{test::random_extent(network, modes, random, 2), 1, modes, 0, true};
  const std::int64_t stride = reaches(network).back().stride.z;
  choice.pass_input.z = stride * random.integer(1, 3);
  const Result<Geometry> geometry = make_geometry(network, choice);
  ASSERT_TRUE(geometry) << geometry.error().message;
  EXPECT_EQ(geometry->patch_output.z, choice.pass_input.z);
  const Shape5 out = geometry->values.back();
  std::set<Vec3> positions;
  for (std::size_t pass = 0; pass < geometry->passes.size(); ++pass) {
    for (std::int64_t i = 0; i < out.S * voxels(out.n); ++i) {
      const Vec3 at = dense_position(*geometry, pass, i / voxels(out.n), fragment_at(i % voxels(out.n), out.n));
      EXPECT_TRUE(covers(at, {}) && covers(geometry->patch_output - Vec3::cube(1), at)) << to_string(at);
      EXPECT_TRUE(positions.insert(at).second) << "twice: " << to_string(at);
    }
    if ((pass + 1) % pass_count(*geometry) != 0) continue;
    const auto phases_done = static_cast<std::int64_t>((pass + 1) / pass_count(*geometry));
    EXPECT_EQ(static_cast<std::int64_t>(positions.size()), phases_done * written_voxels(*geometry));
  }
  EXPECT_EQ(static_cast<std::int64_t>(positions.size()), voxels(geometry->patch_output));
}

INSTANTIATE_TEST_SUITE_P(PlannerStreams, RandomStreams, testing::Range(0, test::case_count(60)));

}  // namespace
}  // namespace znni
