#include "planner/geometry/passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Vec3 by_x(std::int64_t x) { return {1, 1, x}; }

// Returns two poolings by `first` and `second`, along x, after a convolution each.
Network strided_chain(std::int64_t first, std::int64_t second) {
  const auto pool = [](std::int64_t stride) { return Pooling{PoolKind::max, by_x(stride), by_x(stride)}; };
  const Convolution conv{1, by_x(3), Vec3::cube(1), {}};
  Network network;
  network.nodes = {
      {"conv1", conv, {0}}, {"pool1", pool(first), {1}}, {"conv2", conv, {2}}, {"pool2", pool(second), {3}}};
  return network;
}

Geometry geometry_of(const Network& network, const std::vector<PoolingMode>& modes) {
  Vec3 extent;
  for (int axis = 0; axis < 3; ++axis) extent[axis] = legal_extents(network, modes, axis, 1000).front();
  const Result<Geometry> geometry = make_geometry(network, {extent, 1, modes});
  EXPECT_TRUE(geometry) << geometry.error().message;
  return *geometry;
}

template <class Member>
auto each(const Geometry& geometry, Member member) {
  std::vector<std::decay_t<decltype(geometry.passes[0].*member)>> all;
  for (const Pass& pass : geometry.passes) all.push_back(pass.*member);
  return all;
}

TEST(PlannerPasses, OneForAllFragmentsAtOnce) {
  const Geometry geometry = geometry_of(strided_chain(2, 2), {PoolMode::fragments, PoolMode::fragments});
  EXPECT_EQ(geometry.passes.size(), 1U);
  EXPECT_EQ(geometry.windows, 1);
  EXPECT_THAT(geometry.held, ElementsAre());
  EXPECT_THAT(geometry.runs, ElementsAre(1, 1, 1, 1));
}

TEST(PlannerPasses, TheLastHeldPoolingsGroupsTurnFirst) {
  const Geometry geometry =
      geometry_of(strided_chain(2, 4), {PoolingMode({1, 1, 2}, true), PoolingMode({1, 1, 2}, true)});
  EXPECT_THAT(geometry.held, ElementsAre(1, 3));
  EXPECT_THAT(each(geometry, &Pass::first_node), ElementsAre(-1, 3, 1, 3));
  EXPECT_THAT(each(geometry, &Pass::shift), testing::Each(Vec3{0, 0, 0}));
  EXPECT_THAT(each(geometry, &Pass::offset), ElementsAre(Vec3{0, 0, 0}, Vec3{0, 0, 4}, Vec3{0, 0, 1}, Vec3{0, 0, 5}));
  EXPECT_THAT(geometry.passes[3].begins, ElementsAre(Vec3{0, 0, 1}, Vec3{0, 0, 2}));
  EXPECT_THAT(geometry.runs, ElementsAre(1, 2, 2, 4));
  EXPECT_EQ(geometry.windows, 1);
  EXPECT_THAT(geometry.fragments[2].offsets, ElementsAre(0, 2));
}

TEST(PlannerPasses, HeldGroupsRunInEveryWindow) {
  const Geometry geometry = geometry_of(strided_chain(2, 2), {PoolMode::plain, PoolingMode({1, 1, 2}, true)});
  EXPECT_EQ(geometry.windows, 2);
  EXPECT_THAT(each(geometry, &Pass::first_node), ElementsAre(-1, 3, -1, 3));
  EXPECT_THAT(each(geometry, &Pass::shift), ElementsAre(Vec3{0, 0, 0}, Vec3{0, 0, 0}, Vec3{0, 0, 1}, Vec3{0, 0, 1}));
  EXPECT_THAT(each(geometry, &Pass::offset), ElementsAre(Vec3{0, 0, 0}, Vec3{0, 0, 2}, Vec3{0, 0, 1}, Vec3{0, 0, 3}));
  EXPECT_THAT(geometry.runs, ElementsAre(2, 2, 2, 4));
}

// conv - pool, whose output is read by a second pooling and again after it.
TEST(PlannerPasses, NothingMayBeHeldBesideOtherValuesThatAreAlive) {
  Network network = strided_chain(2, 1);
  network.nodes[2].inputs = {1};
  network.nodes[2].operation = Convolution{1, by_x(2), Vec3::cube(1), {}};
  Geometry geometry;
  geometry.choice.modes = {PoolMode::fragments, PoolingMode({1, 1, 1}, true)};
  EXPECT_TRUE(lay_passes(network, {}, geometry));  // one group holds nothing
  geometry.choice.modes = {PoolingMode({1, 1, 2}, true), PoolMode::fragments};
  const Result<void> laid = lay_passes(network, {}, geometry);
  ASSERT_FALSE(laid);
  EXPECT_THAT(laid.error().message, HasSubstr("node pool1: its fragments cannot be made in groups that hold"));
}

// A held first node does not make a new window of every group.
TEST(PlannerPasses, TheFirstNodeMayHoldTheInput) {
  Network network;
  network.nodes = {{"pool", Pooling{PoolKind::max, by_x(2), by_x(2)}, {0}}};
  const Geometry geometry = geometry_of(network, {PoolingMode({1, 1, 2}, true)});
  EXPECT_THAT(each(geometry, &Pass::first_node), ElementsAre(-1, 0));
  EXPECT_EQ(geometry.windows, 1);
  EXPECT_THAT(geometry.runs, ElementsAre(2));
}

TEST(PlannerPasses, TooManyGroupsAreRefused) {
  Network network;
  network.nodes = {{"pool", Pooling{PoolKind::max, Vec3::cube(64), Vec3::cube(64)}, {0}}};
  const Result<Geometry> geometry = make_geometry(network, {Vec3::cube(127), 1, {{Vec3::cube(64), true}}});
  ASSERT_FALSE(geometry);
  EXPECT_THAT(geometry.error().message, HasSubstr("262144 passes per patch, 1x1x1 windows; the limit is 65536"));
  // So many that no memory would hold a list of them.
  network.nodes = {{"pool", Pooling{PoolKind::max, Vec3::cube(4096), Vec3::cube(4096)}, {0}}};
  EXPECT_FALSE(make_geometry(network, {Vec3::cube(8191), 1, {{Vec3::cube(4096), true}}}));
}

}  // namespace
}  // namespace znni
