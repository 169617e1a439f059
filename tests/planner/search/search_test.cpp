#include "planner/search/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "planner/geometry/streams.hpp"
#include "planner/plan/pairs.hpp"
#include "tests/planner/drawn_plan.hpp"

namespace znni {
namespace {

using test::drawn_plan;
using test::small_options;

TEST(PlannerSearch, AnyNumberOfThreadsMakesTheSamePlan) {
  for (const Network& network : {drawn::chain(), drawn::branches()}) {
    SearchOptions options = small_options(20000);
    options.max_extent = 12;
    options.ladder = true;
    const Result<Plan> alone = drawn_plan(network, options);
    ASSERT_TRUE(alone) << alone.error().message;
    for (const int threads : {2, 5}) {
      options.threads = threads;
      EXPECT_EQ(drawn_plan(network, options).value(), *alone) << threads;
    }
  }
}

TEST(PlannerSearch, MoreMemoryIsNeverSlowerAndNeverExceeded) {
  SearchOptions options;
  options.max_extent = 14;
  double before = 0;
  for (std::int64_t limit = 4096; limit < (1 << 22); limit = limit * 5 / 4) {
    options.memory_limit = limit;
    const Result<Plan> plan = drawn_plan(drawn::chain(), options);
    if (!plan) {
      EXPECT_EQ(before, 0) << limit;
      continue;
    }
    EXPECT_GE(plan->predicted.voxels_per_second, before) << limit;
    EXPECT_LE(plan->memory.total(), limit);
    before = plan->predicted.voxels_per_second;
  }
  EXPECT_GT(before, 0);
}

TEST(PlannerSearch, IsDeterministicAndALogChangesNothing) {
  SearchOptions options;
  options.max_extent = 16;
  options.memory_limit = 1 << 20;
  SearchLog log;
  const Result<Plan> first = drawn_plan(drawn::chain(), options);
  const Result<Plan> second = drawn_plan(drawn::chain(), options, &log);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_FALSE(log.candidates.empty());
}

TEST(PlannerSearch, NamesTheSmallestBudgetThatWouldDo) {
  SearchOptions options = small_options(1);
  for (const Network& network : {drawn::chain(3), drawn::chain(), drawn::branches()}) {
    options.memory_limit = 1;
    const Result<Plan> refused = drawn_plan(network, options);
    ASSERT_FALSE(refused);
    ASSERT_EQ(refused.error().code, ErrorCode::over_budget) << refused.error().message;
    const std::string& message = refused.error().message;
    const std::int64_t needed = std::stoll(message.substr(message.find("would do is ") + 12));
    options.memory_limit = needed;
    const Result<Plan> plan = drawn_plan(network, options);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->memory.total(), needed);
    options.memory_limit = needed - 1;
    EXPECT_FALSE(drawn_plan(network, options));
  }
}

TEST(PlannerSearch, LadderFallsWithinTheFirstRungsArena) {
  SearchOptions options;
  options.max_extent = 60;
  options.memory_limit = 8 << 20;
  const Network network = drawn::chain();
  const Result<Plan> plan = drawn_plan(network, options);
  ASSERT_TRUE(plan);
  ASSERT_GE(plan->ladder.size(), 3U);
  EXPECT_LE(plan->ladder.size(), 6U);
  std::int64_t persistent = 0;
  Vec3 before = Vec3::cube(1000);
  for (const Rung& rung : plan->ladder) {
    const Result<Geometry> geometry = make_geometry(network, rung.geometry);
    ASSERT_TRUE(geometry);
    EXPECT_LE(rung.memory.transient, plan->ladder.front().memory.transient);
    persistent += rung.memory.persistent;
    EXPECT_TRUE(!rung.geometry.streamed || rung == plan->ladder.front() || has_one_phase(rung.geometry.modes));
    if (rung.geometry.streamed) continue;
    EXPECT_TRUE(covers(before, geometry->patch_output));
    EXPECT_LT(voxels(geometry->patch_output), voxels(before));
    before = geometry->patch_output;
  }
  EXPECT_EQ(voxels(before), 8);  // of one pooling by 2: the smallest dense output
  EXPECT_EQ(plan->memory.persistent, persistent);
  EXPECT_EQ(plan->memory.transient, plan->ladder.front().memory.transient);
  EXPECT_LE(plan->memory.total(), options.memory_limit);
}

constexpr std::int64_t kernel_bytes = 50000;

// A layer that keeps its kernels, however large its patch is.
Result<std::vector<Estimate>> describe_kept_kernels(const LayerProblem& problem, const DeviceSpec&) {
  if (!std::holds_alternative<ConvProblem>(problem)) return Error{ErrorCode::unsupported, "not a convolution"};
  Estimate estimate;
  estimate.time = direct_flops(problem) * 1e-9 + 1e-5;
  estimate.memory = {
      {input_name(0), MemorySpace::host, tensor_bytes(input_shape(problem, 0), Format{}), Lifetime::stages(0, 0)},
      {std::string(output_name), MemorySpace::host, tensor_bytes(output_shape(problem), Format{}),
       Lifetime::stages(0, 0)},
      {"kernels", MemorySpace::host, kernel_bytes, Lifetime::plan()}};
  return std::vector<Estimate>{estimate};
}

// Patches grow by steps smaller than the kernels: often the fastest first rung leaves no room for those of others.
TEST(PlannerSearch, FirstRungsLeaveRoomForSmallerOnes) {
  const Primitive kept{"kept", 1, DeviceKind::cpu, describe_kept_kernels, drawn::never_prepared};
  const std::array<const Primitive*, 1> primitives = {&kept};
  const Backend backend{"kept", nullptr, nullptr, primitives};
  const std::array<const Backend*, 1> backends = {&backend};
  const Catalogue catalogue = Catalogue::make(backends).value();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  Network network;
  Convolution conv;
  conv.f_out = 1;
  conv.k = Vec3::cube(3);
  network.nodes = {{"conv", conv, {0}}};
  SearchOptions options;
  options.max_extent = 128;
  int made_room = 0;
  for (options.memory_limit = 64 * kernel_bytes; options.memory_limit < 5000000; options.memory_limit += 100000) {
    options.ladder = false;
    const Plan alone = search(network, test::drawn_device(), catalogue, *costs, options, nullptr).value();
    options.ladder = true;
    SearchLog log;
    const Plan plan = search(network, test::drawn_device(), catalogue, *costs, options, &log).value();
    EXPECT_GE(plan.ladder.size(), 3U) << options.memory_limit;
    EXPECT_EQ(plan.key.memory_limit, options.memory_limit);
    EXPECT_LE(plan.memory.total(), options.memory_limit);
    EXPECT_GE(plan.predicted.voxels_per_second, 0.98 * alone.predicted.voxels_per_second);
    if (plan.ladder.front() == alone.ladder.front()) continue;
    ++made_room;
    EXPECT_TRUE(std::any_of(log.candidates.begin(), log.candidates.end(), [&](const Candidate& each) {
      return each.choice == plan.ladder.front().geometry;
    })) << "the log is that of the search for the plan";
  }
  EXPECT_GT(made_room, 0);
}

TEST(PlannerSearch, RefusesAVolumeSmallerThanTheFieldOfView) {
  SearchOptions options = small_options(1 << 20);
  options.volume = Vec3{2, 9, 9};
  const Result<Plan> refused = drawn_plan(drawn::chain(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

TEST(PlannerSearch, LogShowsEveryWayOfEveryNodeBestFirst) {
  SearchLog log;
  const Result<Plan> plan = drawn_plan(drawn::chain(), small_options(1 << 20), &log);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->ladder.front().segments.front().steps.size(), 5U);
  for (int node = 0; node < 5; ++node) {
    std::vector<SearchLog::Choice> own;
    std::copy_if(log.choices.begin(), log.choices.end(), std::back_inserter(own),
                 [&](const SearchLog::Choice& choice) { return choice.node == node; });
    if (is_joined(plan->ladder.front().segments.front().steps[static_cast<std::size_t>(node)])) {
      EXPECT_TRUE(own.empty()) << "the ways of a pair are those of its first node";
      continue;
    }
    ASSERT_GE(own.size(), 2U);
    EXPECT_TRUE(std::is_sorted(own.begin(), own.end(),
                               [](const auto& a, const auto& b) { return a.cost.seconds < b.cost.seconds; }));
    EXPECT_EQ(std::count_if(own.begin(), own.end(), [](const auto& choice) { return choice.chosen; }), 1);
  }
  const bool says_why = std::any_of(log.refusals.begin(), log.refusals.end(), [](const Refusal& refusal) {
    return refusal.node == 4 && refusal.primitive == "drawn.conv.b" && refusal.reason.starts_with("k = 1");
  });
  EXPECT_TRUE(says_why);
}

TEST(PlannerSearch, TellsHowFarItIs) {
  SearchOptions options = small_options(1 << 20);
  options.ladder = true;
  std::vector<SearchProgress> told;
  options.progress = [&told](const SearchProgress& progress) { told.push_back(progress); };
  const Result<Plan> plan = drawn_plan(drawn::chain(3), options);
  ASSERT_TRUE(plan);
  ASSERT_FALSE(told.empty());
  double best = 0;
  for (std::size_t i = 0; i < told.size(); ++i) {
    const SearchProgress& now = told[i];
    EXPECT_LE(now.looked_at, now.candidates);
    const bool goes_on = i > 0 && told[i - 1].looked_at < told[i - 1].candidates;
    if (goes_on) {
      EXPECT_GE(now.looked_at, told[i - 1].looked_at);
    }
    if (!now.smaller) best = now.voxels_per_second;
    EXPECT_TRUE(now.smaller || i == 0 || !told[i - 1].smaller) << "smaller ones come last";
  }
  EXPECT_EQ(told.back().looked_at, told.back().candidates);
  EXPECT_EQ(told.front().looked_at, 0) << "before the first";
  EXPECT_FALSE(told.front().smaller);
  EXPECT_TRUE(told.back().smaller);
  EXPECT_NEAR(best / plan->predicted.voxels_per_second, 1, 1e-9);
  options.progress = {};
  EXPECT_EQ(*drawn_plan(drawn::chain(3), options), *plan) << "whether anybody listens or not";
}

}  // namespace
}  // namespace znni
