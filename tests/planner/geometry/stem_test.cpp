#include "planner/geometry/stem.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/planner/dense_net.hpp"

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Test;

// Returns conv 3 - conv 2 - pool 2 - conv 3 - pool 3: field of view 4, 5, 9, 13.
Network stem_chain() {
  const auto conv = [](std::int64_t k) { return Convolution{2, Vec3::cube(k), Vec3::cube(1), {ActivationKind::relu}}; };
  const auto pool = [](std::int64_t p) { return Pooling{PoolKind::max, Vec3::cube(p), Vec3::cube(p)}; };
  Network network;
  network.nodes = {{"conv1", conv(3), {0}},
                   {"conv2", conv(2), {1}},
                   {"pool1", pool(2), {2}},
                   {"conv3", conv(3), {3}},
                   {"pool2", pool(3), {4}}};
  return network;
}

GeometryChoice choice_of(const Network& network, std::vector<PoolingMode> modes, std::size_t step) {
  GeometryChoice choice{{}, 1, std::move(modes), 0};
  for (int axis = 0; axis < 3; ++axis) {
    choice.pass_input[axis] = legal_extents(network, choice.modes, axis, 200).at(axis == 0 ? step : 0);
  }
  return choice;
}

std::string failure_of(const Network& network, const GeometryChoice& choice) {
  const Result<Geometry> geometry = make_geometry(network, choice);
  return geometry ? "no failure" : geometry.error().message;
}

TEST(PlannerStem, SlabsCoverTheOutputAndTheLastOverlaps) {
  GeometryChoice choice = choice_of(stem_chain(), {PoolMode::fragments, PoolMode::fragments}, 1);
  const Geometry whole = *make_geometry(stem_chain(), choice);
  const std::int64_t planes = whole.values[3].n.z;
  ASSERT_EQ(planes, 10);
  choice.stem_slab = 4;
  const Geometry geometry = *make_geometry(stem_chain(), choice);
  EXPECT_EQ(geometry.stem.last, 2);
  EXPECT_EQ(geometry.stem.step, 2);
  EXPECT_THAT(geometry.stem.begins, ElementsAre(0, 4, 6));
  EXPECT_EQ(geometry.stem.input.n.z, choice.pass_input.z - 2 * 6);
  EXPECT_EQ(geometry.values[0], whole.values[0]);
  EXPECT_EQ(geometry.values[2].n.z, whole.values[2].n.z - 2 * 6);
  EXPECT_EQ(geometry.values[3], whole.values[3]);
  EXPECT_EQ(output_shape(geometry.problems[2]).n.z, 4);
  EXPECT_THAT(geometry.runs, ElementsAre(3, 3, 3, 1, 1));
  EXPECT_EQ(geometry.problems[3], whole.problems[3]);
}

TEST(PlannerStem, WhatCannotRunInSlabsIsRefusedWithTheReason) {
  const Network network = stem_chain();
  GeometryChoice choice = choice_of(network, {PoolMode::fragments, PoolMode::fragments}, 1);
  choice.stem_slab = 10;
  EXPECT_THAT(failure_of(network, choice), HasSubstr("slabs of 10 planes of 10"));
  GeometryChoice endless = choice;
  endless.stem_slab = 1;
  endless.pass_input.z = legal_extents(network, choice.modes, 0, 100).back() + (std::int64_t{6} << 40);
  EXPECT_THAT(failure_of(network, endless), HasSubstr("slabs; the limit is 65536"));
  choice.stem_slab = -1;
  EXPECT_THAT(failure_of(network, choice), HasSubstr("slabs of -1 planes"));
  choice.stem_slab = 2;
  choice.S = 2;
  EXPECT_THAT(failure_of(network, choice), HasSubstr("more than one channel"));
  choice.S = 1;
  choice.modes[0] = {{2, 1, 1}, true};
  EXPECT_THAT(failure_of(network, choice), HasSubstr("what its pooling reads is held"));
  Network branched = network;
  branched.nodes[1] = {"sum", Add{}, {1, 1}};
  EXPECT_THAT(check_stem(branched, choice).error().message, HasSubstr("not a chain"));
  Network flat;
  flat.nodes = {{"conv", Convolution{1, Vec3::cube(3), Vec3::cube(1), {}}, {0}}};
  EXPECT_THAT(failure_of(flat, {Vec3::cube(9), 1, {}, 2}), HasSubstr("no pooling"));
}

// The same numbers, whatever the slab and whatever comes after it.
TEST(PlannerStem, SlabsTogetherEqualTheSlidingWindow) {
  const Network network = stem_chain();
  const NetworkWeights weights = random_weights(network, 1);
  test::Random random(test::base_seed());
  for (const PoolingMode& first : {PoolingMode(), PoolingMode(PoolMode::plain), PoolingMode({2, 1, 1}, false)}) {
    for (const PoolingMode& second : {PoolingMode(), PoolingMode({3, 1, 1}, true)}) {
      for (std::int64_t slab = 1; slab <= 7; slab += 2) {
        SCOPED_TRACE(to_string(first) + " " + to_string(second) + ", slab " + std::to_string(slab));
        GeometryChoice choice = choice_of(network, {first, second}, 1);
        choice.stem_slab = slab;
        const Geometry geometry = *make_geometry(network, choice);
        const oracle::Values input = test::normals64(voxels(geometry.patch_input), random);
        const oracle::Values found = test::run_passes(network, weights, geometry, input);
        const oracle::Values wanted = test::dense_output(network, weights, geometry.patch_input, input);
        ASSERT_EQ(found.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1e-10) << i;
      }
    }
  }
}

}  // namespace
}  // namespace znni
