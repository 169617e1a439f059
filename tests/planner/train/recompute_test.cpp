#include "planner/train/recompute.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/train/step_plan.hpp"
#include "planner/train/trainable.hpp"
#include "primitives/core/index.hpp"
#include "tests/planner/dense_net.hpp"
#include "tests/planner/train/cpu_parts.hpp"

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;
constexpr Activation relu{ActivationKind::relu, 0.0F};

// Four convolutions, each with an activation: the gradients of each read what it writes and what it reads.
Network four_convs() {
  Network net;
  net.name = "four";
  for (int i = 0; i < 4; ++i) {
    net.nodes.push_back(
        {"conv" + std::to_string(i), Convolution{i == 3 ? 1 : 16, Vec3::cube(3), Vec3::cube(1), relu}, {i}});
  }
  return net;
}

StepGraph graph_of(const Network& net, Vec3 patch) {
  const std::vector<PoolingMode> modes(pooling_nodes(net).size(), PoolingMode(PoolMode::fragments));
  return make_step_graph(net, make_geometry(net, {patch, 1, modes}).value());
}

std::vector<std::string> names_of(const StepGraph& graph, const std::vector<int>& tensors) {
  std::vector<std::string> names;
  for (const int tensor : tensors) names.push_back(graph.tensors[index(tensor)].name);
  return names;
}

// Expects that each work reads what was written before, and writes what was not.
void expect_in_order(const StepGraph& graph) {
  std::set<int> written = {0};
  for (const StepWork& work : graph.works) {
    for (const int tensor : work.reads) EXPECT_TRUE(written.contains(tensor)) << graph.tensors[index(tensor)].name;
    if (work.writes < 0) continue;
    EXPECT_TRUE(written.insert(work.writes).second);
  }
}

TEST(Recompute, WhatTheBackwardRunReadsMayBeComputedAgain) {
  const StepGraph graph = graph_of(four_convs(), Vec3::cube(14));
  EXPECT_THAT(names_of(graph, recomputable(graph)), ElementsAre("conv0/output", "conv1/output", "conv2/output"))
      << "not the input, and not the output, which the loss has";
}

TEST(Recompute, ATensorIsComputedAgainOnceBeforeItsFirstReader) {
  const StepGraph graph = graph_of(four_convs(), Vec3::cube(14));
  const int middle = recomputable(graph)[1];
  const StepGraph made = with_recomputed(graph, {middle});
  expect_in_order(made);
  EXPECT_EQ(made.works.size(), graph.works.size() + 1);
  const auto again =
      std::find_if(made.works.begin(), made.works.end(), [](const StepWork& w) { return w.is_recomputed; });
  ASSERT_NE(again, made.works.end());
  EXPECT_EQ(made.tensors[index(again->writes)].name, "conv1/output again");
  EXPECT_EQ(again->node, 1);
  ASSERT_NE(again + 1, made.works.end());
  EXPECT_THAT((again + 1)->reads, testing::Contains(again->writes));
  for (auto later = again + 1; later != made.works.end(); ++later) {
    EXPECT_THAT(later->reads, testing::Not(testing::Contains(middle)));
  }
}

// What is computed again from something that is computed again, too, is computed from that.
TEST(Recompute, ChainsAreComputedAgainFromTheFirstKeptValue) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    test::Random random(seed);
    const Network net = test::random_network(random);
    if (!check_trainable(net)) continue;
    const std::vector<PoolingMode> modes(pooling_nodes(net).size(), PoolingMode(PoolMode::fragments));
    const StepGraph graph = graph_of(net, test::random_extent(net, modes, random, 2));
    std::set<int> set;
    for (const int tensor : recomputable(graph)) {
      if (random.chance(0.5)) set.insert(tensor);
    }
    const StepGraph made = with_recomputed(graph, set);
    expect_in_order(made);
    const auto count =
        std::count_if(made.works.begin(), made.works.end(), [](const StepWork& w) { return w.is_recomputed; });
    EXPECT_EQ(count, std::ssize(set));
    EXPECT_EQ(made.works.size(), graph.works.size() + set.size());
    EXPECT_TRUE(with_recomputed(graph, {}).works.size() == graph.works.size());
  }
}

TEST(Recompute, FewTensorsGiveAllSets) {
  const StepGraph graph = graph_of(four_convs(), Vec3::cube(14));
  const std::vector<Seconds> seconds(graph.works.size(), 1.0);
  const std::vector<std::set<int>> sets = sets_to_recompute(graph, seconds);
  EXPECT_EQ(sets.size(), 7U);
  EXPECT_EQ(std::set<std::set<int>>(sets.begin(), sets.end()).size(), 7U);
  Network one = four_convs();
  one.nodes.resize(1);
  const StepGraph single = graph_of(one, Vec3::cube(14));
  EXPECT_THAT(sets_to_recompute(single, std::vector<Seconds>(single.works.size(), 1.0)), IsEmpty());
}

TEST(Recompute, OfManyTensorsSetsGrowOneByOne) {
  Network net;
  for (int i = 0; i < 12; ++i) {
    net.nodes.push_back({"conv" + std::to_string(i), Convolution{16, Vec3::cube(2), Vec3::cube(1), relu}, {i}});
  }
  const StepGraph graph = graph_of(net, Vec3::cube(20));
  const std::vector<std::set<int>> sets = sets_to_recompute(graph, std::vector<Seconds>(graph.works.size(), 1.0));
  ASSERT_FALSE(sets.empty());
  for (std::size_t i = 0; i < sets.size(); ++i) EXPECT_EQ(sets[i].size(), i + 1);
}

// Returns the seconds of the fastest step of a graph that is packed into `limit` bytes; infinite if there is none, or
// if it is faster than `least`: of those none is taken.
Seconds fastest_within(const StepGraph& graph, const StepParts& parts, std::int64_t limit, Seconds least) {
  constexpr Seconds none = std::numeric_limits<Seconds>::infinity();
  StepSearch search = StepSearch::make(graph, parts).value();
  const auto packed = [&](const StepChoice& choice) { return pack(search.line_of(choice).memory()).bytes; };
  const auto taken = [&](const StepChoice& choice) { return choice.seconds < least - 1e-12 ? none : choice.seconds; };
  const StepChoice smallest = search.smallest().value();
  const Seconds of_smallest = packed(smallest) <= limit ? taken(smallest) : none;
  std::optional<StepChoice> choice = search.best(limit);
  while (choice && packed(*choice) > limit) choice = search.best(choice->peak - 1);
  return choice ? std::min(of_smallest, taken(*choice)) : of_smallest;
}

// All sets of the tensors, each with the fastest step within the limit that may be taken.
TEST(Recompute, NoSetOfASmallNetIsFasterWithinALimit) {
  const Network net = four_convs();
  const StepParts parts = test::cpu_parts(1);
  const Vec3 patch = Vec3::cube(16);
  const StepGraph graph = graph_of(net, patch);
  const StepPlan most = plan_step(net, patch, {gibibyte}, parts).value();
  const std::int64_t weights = most.bytes.weights + most.bytes.gradients;
  const std::vector<int> tensors = recomputable(graph);
  bool recomputes = false;
  for (std::int64_t mem = most.bytes.total(); mem > most.bytes.total() / 4; mem -= most.bytes.total() / 40) {
    const Result<StepPlan> plan = plan_step(net, patch, {mem}, parts);
    Seconds least = std::numeric_limits<Seconds>::infinity();
    for (std::size_t bits = 0; bits < (std::size_t{1} << tensors.size()); ++bits) {
      std::set<int> set;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if ((bits >> i & 1) != 0) set.insert(tensors[i]);
      }
      least = std::min(least, fastest_within(with_recomputed(graph, set), parts, mem - weights, most.seconds));
    }
    if (!plan) {
      EXPECT_EQ(plan.error().code, ErrorCode::over_budget);
      EXPECT_TRUE(std::isinf(least)) << "a step of " << least << " s fits";
      continue;
    }
    EXPECT_LE(plan->bytes.total(), mem);
    EXPECT_GE(plan->seconds, most.seconds - 1e-12);
    EXPECT_NEAR(plan->seconds, least, 1e-12);
    const bool again =
        std::any_of(plan->calls.begin(), plan->calls.end(), [](const StepCall& c) { return c.is_recomputed; });
    recomputes = recomputes || again;
  }
  EXPECT_TRUE(recomputes);
}

TEST(Recompute, DescribedStepsSayWhatIsComputedAgainAndWhatIsKept) {
  const Network net = four_convs();
  const StepParts parts = test::cpu_parts(1);
  const StepPlan most = plan_step(net, Vec3::cube(16), {gibibyte}, parts).value();
  std::int64_t mem = most.bytes.total();
  Result<StepPlan> plan = most;
  const auto again = [](const StepCall& call) { return call.is_recomputed; };
  while (plan && std::none_of(plan->calls.begin(), plan->calls.end(), again)) {
    mem -= most.bytes.total() / 64;
    plan = plan_step(net, Vec3::cube(16), {mem}, parts);
  }
  ASSERT_TRUE(plan) << "none was computed again before nothing fitted";
  const std::vector<std::string> lines = describe(*plan);
  EXPECT_THAT(lines, testing::Contains(testing::StartsWith("recompute ")));
  EXPECT_THAT(lines[lines.size() - 2], testing::StartsWith("kept for the backward run: "));
  EXPECT_THAT(lines[lines.size() - 2], HasSubstr(" MiB"));
}

}  // namespace
}  // namespace znni
