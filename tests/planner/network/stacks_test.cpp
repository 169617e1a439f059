#include "planner/network/stacks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/graph_passes.hpp"
#include "planner/network/padding.hpp"
#include "tests/planner/dense_net.hpp"
#include "tests/support/cases.hpp"

namespace znni {
namespace {

using test::Random;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Activation relu{ActivationKind::relu, 0};

Pooling pool(std::int64_t window, PoolKind kind = PoolKind::max) { return {kind, Vec3::cube(window), Vec3::cube(1)}; }
Convolution conv(std::int64_t k) { return {2, Vec3::cube(k), Vec3::cube(1), {}}; }
Border same(std::int64_t pad) { return {Vec3::cube(pad), Vec3::cube(pad)}; }

Network network_of(std::vector<Node> nodes) {
  Network network;
  network.nodes = std::move(nodes);
  return network;
}

LoadedNetwork stacked(LoadedNetwork loaded) {
  stack_poolings(loaded);
  const Result<void> sound = check(loaded.network);
  EXPECT_TRUE(sound) << sound.error().message;
  return loaded;
}

std::vector<std::string> stacked(std::vector<Node> nodes) {
  return describe(stacked({network_of(std::move(nodes)), {}}).network);
}

LoadedNetwork framed(std::vector<Node> nodes, const std::vector<Border>& pads) {
  return without_padding({network_of(std::move(nodes)), {}}, pads).value();
}

// Compares all but names.
void expect_equal(const LoadedNetwork& found, const LoadedNetwork& wanted) {
  ASSERT_EQ(found.network.nodes.size(), wanted.network.nodes.size());
  for (std::size_t i = 0; i < found.network.nodes.size(); ++i) {
    Node node = found.network.nodes[i];
    node.name = wanted.network.nodes[i].name;
    EXPECT_EQ(node, wanted.network.nodes[i]) << describe(found.network)[i] << "\n" << describe(wanted.network)[i];
    if (wanted.weights.empty()) continue;
    EXPECT_EQ(found.weights[i].scale, wanted.weights[i].scale);
    EXPECT_EQ(found.weights[i].shift, wanted.weights[i].shift);
  }
}

TEST(PlannerStacks, PoolingsAndWhatIsBetweenBecomeOneNode) {
  EXPECT_THAT(stacked({{"a", conv(1), {0}},
                       {"scale", ScaleShift{}, {1}},
                       {"pool", pool(2), {2}},
                       {"relu", Activate{relu}, {3}},
                       {"mean", pool(3, PoolKind::average), {4}},
                       {"b", conv(1), {5}}}),
              ElementsAre("a: conv 1 -> 2, k 1x1x1 <- input",
                          "mean: stack 2: scale and shift, max pool 2x2x2, relu, average pool 3x3x3 <- a",
                          "b: conv 2 -> 2, k 1x1x1 <- mean"));
}

TEST(PlannerStacks, StagesThatAreRepeatedAreToldOnce) {
  EXPECT_THAT(stacked({{"p", pool(3), {0}}, {"s", ScaleShift{}, {1}}, {"q", pool(3), {2}}, {"t", ScaleShift{}, {3}}}),
              ElementsAre("t: stack 1: 2 x (max pool 3x3x3, scale and shift) <- input"));
  EXPECT_THAT(stacked({{"p", pool(3), {0}}, {"q", pool(3), {1}}, {"r", pool(2), {2}}}),
              ElementsAre("r: stack 1: max pool 3x3x3, max pool 3x3x3, max pool 2x2x2 <- input"));
}

// Whatever stands in between ends a run, and so does a second reader.
TEST(PlannerStacks, WhatIsNoStackStaysAsItIs) {
  Pooling dilated = pool(2);
  dilated.dilation = {1, 1, 2};
  const std::vector<Operation> others = {Pooling{}, dilated, pool(2, PoolKind::average_inside), PRelu{}, conv(1)};
  for (const Operation& other : others) {
    const std::vector<Node> nodes = {{"p", pool(2), {0}}, {"other", other, {1}}, {"act", Activate{relu}, {2}}};
    EXPECT_EQ(stacked(nodes), describe(network_of(nodes)));
  }
  const std::vector<Node> twice = {{"p", pool(2), {0}}, {"act", Activate{relu}, {1}}, {"both", Add{}, {1, 2}}};
  EXPECT_EQ(stacked(twice), describe(network_of(twice)));
  const std::vector<Node> no_pooling = {{"s", ScaleShift{}, {0}}, {"act", Activate{relu}, {1}}};
  EXPECT_EQ(stacked(no_pooling), describe(network_of(no_pooling)));
}

TEST(PlannerStacks, BranchesAreStackedByThemselves) {
  const std::vector<std::string> lines = stacked({{"p", pool(2), {0}},
                                                  {"q", pool(2), {0}},
                                                  {"a", Activate{relu}, {1}},
                                                  {"b", Activate{relu}, {2}},
                                                  {"both", Add{}, {3, 4}}});
  EXPECT_THAT(lines, ElementsAre("a: stack 1: max pool 2x2x2, relu <- input",
                                 "b: stack 1: max pool 2x2x2, relu <- input", "both: add 1 <- a, b"));
}

TEST(PlannerStacks, AStackTakesInWhatIsAppended) {
  LoadedNetwork loaded = stacked({network_of({{"p", pool(2), {0}}, {"q", pool(2), {1}}}), {}});
  loaded.network.nodes.push_back({"last", Activate{relu}, {1}});
  EXPECT_THAT(describe(fold_and_fuse(loaded).network),
              ElementsAre("last: stack 1: max pool 2x2x2, max pool 2x2x2, relu <- input"));
}

// Behind the first pooling lies what it pads with, and so it is before it, in a copy of the input.
TEST(PlannerStacks, PaddingIsTheStacksOwn) {
  const LoadedNetwork valid =
      framed({{"p", pool(3), {0}}, {"act", Activate{relu}, {1}}, {"q", pool(2), {2}}}, {same(1), {}, {{0, 0, 1}, {}}});
  ASSERT_EQ(valid.network.nodes.size(), 4U);
  const Network network = stacked(valid).network;
  EXPECT_THAT(describe(network), ElementsAre("q: stack 1: max pool 3x3x3 padded 1x1x1 1x1x1, relu, max pool 2x2x2 "
                                             "padded 0x0x1 0x0x0 <- input framed by 1x1x2 and 1x1x1 zeros"));
  EXPECT_EQ(padded_axes(network), Vec3::cube(1));
  EXPECT_FALSE(is_dense(network));
}

TEST(PlannerStacks, NothingIsSetForAStack) {
  const LoadedNetwork valid =
      framed({{"a", conv(3), {0}}, {"p", pool(3), {1}}, {"act", Activate{relu}, {2}}, {"b", conv(3), {3}}},
             {same(1), same(1), {}, same(1)});
  EXPECT_EQ(valid.network.nodes[0].outside_kind, OutsideKind::lowest);
  const Network network = stacked(valid).network;
  ASSERT_EQ(network.nodes.size(), 3U);
  EXPECT_EQ(network.nodes[0].outside, Border{});
  EXPECT_EQ(network.nodes[0].outside_kind, OutsideKind::zero);
  EXPECT_EQ(network.nodes[0].beyond, same(2));
  EXPECT_EQ(network.nodes[1].outside, same(1));  // of the convolution behind it
  EXPECT_EQ(network.nodes[1].beyond, same(1));
}

// The volume's own voxels lie behind a crop, so that there is no frame.
TEST(PlannerStacks, PaddingBehindACropIsPadding) {
  const LoadedNetwork valid =
      framed({{"crop", Crop{Vec3::cube(2), Vec3::cube(2)}, {0}}, {"p", pool(3), {1}}, {"act", Activate{relu}, {2}}},
             {{}, same(1), {}});
  const Network network = stacked(valid).network;
  ASSERT_EQ(network.nodes.size(), 2U) << describe(network)[0];
  EXPECT_EQ(network.frame, Border{});
  EXPECT_FALSE(is_dense(network));
}

// Padding that takes back voxels of a crop reads zeros there, as it does behind the volume's own end.
TEST(PlannerStacks, PaddingThatTakesBackACropIsPadding) {
  const LoadedNetwork valid = framed({{"a", conv(3), {0}},
                                      {"crop", Crop{Vec3::cube(1), Vec3::cube(1)}, {1}},
                                      {"p", pool(3), {2}},
                                      {"act", Activate{relu}, {3}}},
                                     {{}, {}, same(1), {}});
  const LoadedNetwork joined = stacked(valid);
  EXPECT_TRUE(check_stacks(joined.network));
  expect_equal(unstacked(joined), valid);
}

TEST(PlannerStacks, LongRunsBecomeSeveralStacks) {
  std::vector<Node> nodes;
  for (int i = 0; i < 200; ++i) nodes.push_back({"n" + std::to_string(i), pool(2), {i}});
  const Network network = stacked({network_of(nodes), {}}).network;
  ASSERT_EQ(network.nodes.size(), 2U);
  EXPECT_EQ(std::get<Stack>(network.nodes[0].operation).stages.size(), max_stages);
}

// A max filter whose padding is zeros, or the voxels at the border, keeps it.
TEST(PlannerStacks, OtherPaddingIsLeft) {
  for (const OutsideKind kind : {OutsideKind::zero, OutsideKind::edge, OutsideKind::lowest}) {
    LoadedNetwork valid =
        framed({{"a", conv(1), {0}}, {"p", pool(3), {1}}, {"act", Activate{relu}, {2}}}, {{}, same(1), {}});
    valid.network.nodes[0].outside_kind = kind;
    stack_poolings(valid);
    EXPECT_EQ(valid.network.nodes.size(), kind == OutsideKind::lowest ? 2U : 3U);
  }
}

TEST(PlannerStacks, PaddingThatIsNotThatOfTheFrameIsRefused) {
  LoadedNetwork loaded = stacked(framed({{"p", pool(3), {0}}, {"act", Activate{relu}, {1}}}, {same(1), {}}));
  EXPECT_TRUE(check_stacks(loaded.network));
  loaded.network.frame = same(2);
  ASSERT_FALSE(check_stacks(loaded.network));
  EXPECT_THAT(check_stacks(loaded.network).error().message, HasSubstr("node act pads by 1x1x1 and 1x1x1"));
  EXPECT_FALSE(check(loaded.network));
}

// Draws a chain of poolings and of what is between them, with a branch around some of it.
struct Drawn {
  Network network;
  std::vector<Border> pads;
};

Operation random_operation(Random& random) {
  if (random.chance(0.1)) return Crop{random.vec3(0, 1), random.vec3(0, 1)};
  const std::int64_t kind = random.integer(0, 5);
  if (kind == 0) return ScaleShift{};
  if (kind == 1) return Activate{relu};
  if (kind == 2) return conv(random.integer(1, 2));
  return Pooling{random.chance(0.6) ? PoolKind::max : PoolKind::average, random.vec3(1, 3), Vec3::cube(1)};
}

Border random_pads(const Operation& operation, Random& random) {
  const auto* const pooling = std::get_if<Pooling>(&operation);
  const bool can_pad = pooling != nullptr || std::holds_alternative<Convolution>(operation);
  if (!can_pad || random.chance(0.3)) return {};
  Border pads;
  const Vec3 most = pooling != nullptr ? pooling->window - Vec3::cube(1) : std::get<Convolution>(operation).k;
  for (int axis = 0; axis < 3; ++axis) {
    pads.begin[axis] = random.integer(0, most[axis] / 2);
    pads.end[axis] = random.integer(0, most[axis] - pads.begin[axis]);
    if (pooling == nullptr) pads.end[axis] = std::min(pads.end[axis], most[axis] - 1 - pads.begin[axis]);
  }
  return {max(pads.begin, {}), max(pads.end, {})};
}

Drawn random_chain(Random& random, bool padded) {
  Drawn drawn;
  drawn.network.f_in = random.integer(1, 3);
  for (std::int64_t count = random.integer(2, 8); count > 0; --count) {
    const auto last = static_cast<int>(drawn.network.nodes.size());
    const Operation operation = random_operation(random);
    drawn.network.nodes.push_back({"n" + std::to_string(last), operation, {last}});
    drawn.pads.push_back(padded ? random_pads(operation, random) : Border{});
    if (last == 0 || !random.chance(0.2)) continue;
    drawn.network.nodes.push_back({"twice" + std::to_string(last), Add{}, {last + 1, last + 1}});
    drawn.pads.emplace_back();
  }
  return drawn;
}

LoadedNetwork loaded_of(const Drawn& drawn) { return {drawn.network, random_weights(drawn.network, 3)}; }

TEST(PlannerStacks, TakenApartTheyAreTheNodesThatTheyWere) {
  int stacks = 0;
  for (int i = 0; i < test::case_count(200); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Drawn drawn = random_chain(random, random.chance(0.8));
    const Result<LoadedNetwork> valid = without_padding(loaded_of(drawn), drawn.pads);
    if (!valid || !check(valid->network)) continue;  // its output is larger than the volume
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + testing::PrintToString(describe(valid->network)));
    const LoadedNetwork joined = stacked(*valid);
    stacks += joined.network.nodes.size() < valid->network.nodes.size() ? 1 : 0;
    const LoadedNetwork apart = unstacked(joined);
    EXPECT_TRUE(check(apart.network));
    expect_equal(apart, *valid);
    EXPECT_EQ(describe(stacked(apart).network), describe(joined.network));
    if (HasFailure()) return;
  }
  EXPECT_GE(stacks, test::case_count(200) / 4);
}

TEST(PlannerStacks, ComputeWhatTheirNodesDo) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const LoadedNetwork valid = loaded_of(random_chain(random, false));
    const LoadedNetwork joined = stacked(valid);
    EXPECT_TRUE(check_weights(joined.network, joined.weights));
    EXPECT_EQ(reaches(joined.network).back(), reaches(valid.network).back());
    const Vec3 n = reaches(valid.network).back().fov + random.vec3(0, 2);
    const oracle::Values input = test::normals64(valid.network.f_in * voxels(n), random);
    EXPECT_EQ(test::dense_output(joined.network, joined.weights, n, input),
              test::dense_output(valid.network, valid.weights, n, input))
        << "ZNNI_TEST_SEED=" << seed;
  }
}

TEST(PlannerStacks, NamesOfStagesAreFree) {
  LoadedNetwork loaded = stacked({network_of({{"last pool", conv(1), {0}},
                                              {"p", pool(2), {1}},
                                              {"q", pool(2), {2}},
                                              {"s", ScaleShift{}, {3}},
                                              {"last", Activate{relu}, {4}}}),
                                  {}});
  EXPECT_THAT(describe(unstacked(loaded).network),
              ElementsAre(HasSubstr("last pool: "), HasSubstr("last pool 2: "), HasSubstr("last pool 3: "),
                          HasSubstr("last scale: "), HasSubstr("last: ")));
}

}  // namespace
}  // namespace znni
