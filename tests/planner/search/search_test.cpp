#include "planner/search/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "planner/geometry/streams.hpp"
#include "planner/plan/pairs.hpp"
#include "tests/planner/brute_force.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

using test::BruteForce;

SearchOptions small_options(std::int64_t limit) {
  SearchOptions options;
  options.memory_limit = limit;
  options.most_S = 2;
  options.most_extent = 6;
  options.head_slab = 1;
  options.ladder = false;
  return options;
}

Result<Plan> run(const Network& network, const SearchOptions& options, SearchLog* log = nullptr) {
  const DeviceSpec spec = test::drawn_device();
  const Catalogue catalogue = drawn::catalogue();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  return search(network, spec, catalogue, *costs, options, log);
}

void expect_equal_to_brute_force(const Network& network, const SearchOptions& options) {
  SCOPED_TRACE(network.name + ", limit " + std::to_string(options.memory_limit));
  BruteForce brute(network, options);
  const double expected = brute.best();
  const Result<Plan> plan = run(network, options);
  if (expected == 0) {
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, brute.tried() == 0 ? ErrorCode::invalid_argument : ErrorCode::over_budget);
    return;
  }
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_NEAR(plan->predicted.voxels_per_second / expected, 1.0, 1e-9);
  EXPECT_LE(plan->memory.total(), options.memory_limit);
}

TEST(PlannerSearch, EqualsBruteForceOnAChain) {
  for (const std::int64_t limit : {2000, 6000, 9000, 14000, 25000, 60000, 1000000}) {
    expect_equal_to_brute_force(drawn::chain(3), small_options(limit));
  }
}

TEST(PlannerSearch, EqualsBruteForceOnBranches) {
  SearchOptions options = small_options(0);
  options.most_extent = 3;
  options.most_S = 1;
  for (const std::int64_t limit : {1000, 1600, 2200, 3000, 4500, 9000, 100000}) {
    options.memory_limit = limit;
    expect_equal_to_brute_force(drawn::branches(), options);
  }
}

// One branch reads more planes of the input than the other, along z and not along y: streams keep what the thirstier
// needs.
TEST(PlannerSearch, EqualsBruteForceWhereBranchesReadUnlikeHistories) {
  Network network;
  network.name = "unlike";
  network.nodes = {{"flat", drawn::convolution(2, {1, 2, 2}), {0}},
                   {"deep", drawn::convolution(2, {2, 1, 1}), {1}},
                   {"both", drawn::convolution(2, {2, 2, 2}), {0}},
                   {"sum", Add{}, {2, 3}}};
  SearchOptions options = small_options(0);
  options.most_extent = 4;
  options.most_S = 1;
  for (const std::int64_t limit : {500, 900, 1600, 2400, 4000, 100000}) {
    options.memory_limit = limit;
    expect_equal_to_brute_force(network, options);
  }
}

TEST(PlannerSearch, EqualsBruteForceWhereConvolutionsAddResiduals) {
  SearchOptions options = small_options(0);
  options.most_extent = 3;
  options.most_S = 1;
  for (const std::int64_t limit : {1000, 1600, 2200, 3000, 4500, 9000, 100000}) {
    options.memory_limit = limit;
    expect_equal_to_brute_force(drawn::residuals(), options);
  }
}

// A first layer and its pooling in one call, where a primitive takes both: faster, and in memory that is too small for
// the tensor between them. Who forces a primitive that takes one of them alone gets that.
TEST(PlannerSearch, ComputesPairsWhereThatIsFasterOrSmaller) {
  const Network network = drawn::chain(3);
  int pairs = 0;
  int apart = 0;
  for (const std::int64_t limit : {2000, 6000, 9000, 14000, 25000, 60000, 1000000}) {
    SearchOptions options = small_options(limit);
    const Result<Plan> plan = run(network, options);
    if (!plan) continue;
    const std::vector<Step>& steps = plan->ladder.front().segments.front().steps;
    const bool in_pairs = std::any_of(steps.begin(), steps.end(), is_joined);
    (in_pairs ? pairs : apart) += 1;
    options.force = {{"conv1", "drawn.conv.a"}};
    const Result<Plan> forced = run(network, options);
    if (!forced) continue;
    const std::vector<Step>& alone = forced->ladder.front().segments.front().steps;
    EXPECT_TRUE(std::none_of(alone.begin(), alone.end(), is_joined));
    EXPECT_LE(forced->predicted.voxels_per_second, plan->predicted.voxels_per_second);
  }
  EXPECT_GT(pairs, 0);
  EXPECT_GT(apart + pairs, 3);
}

TEST(PlannerSearch, AnyNumberOfThreadsMakesTheSamePlan) {
  for (const Network& network : {drawn::chain(), drawn::branches()}) {
    SearchOptions options = small_options(20000);
    options.most_extent = 12;
    options.ladder = true;
    const Result<Plan> alone = run(network, options);
    ASSERT_TRUE(alone) << alone.error().message;
    for (const int threads : {2, 5}) {
      options.threads = threads;
      EXPECT_EQ(run(network, options).value(), *alone) << threads;
    }
  }
}

TEST(PlannerSearch, EqualsBruteForceForAVolume) {
  for (const std::int64_t limit : {9000, 25000, 1000000}) {
    SearchOptions options = small_options(limit);
    options.volume = Vec3{6, 6, 6};
    expect_equal_to_brute_force(drawn::chain(3), options);
  }
}

// A small net of 2 to 4 nodes with any operation, chains and branches; some are not sound.
Network random_network(std::mt19937& random) {
  const auto upto = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  Network network;
  network.name = "random";
  network.f_in = upto(3);
  const int nodes = 1 + upto(3);
  for (int i = 0; i < nodes; ++i) {
    const int input = upto(3) == 1 ? upto(i + 1) - 1 : i;
    Node node{"node" + std::to_string(i), Softmax{}, {input}};
    const int kind = upto(7);
    if (kind == 7) node = {node.name, drawn::convolution(upto(3), Vec3::cube(1)), {input, upto(i + 1) - 1}};
    if (kind <= 2) node.operation = drawn::convolution(upto(9), {upto(2), upto(2), upto(2)});
    if (kind == 3) node.operation = Pooling{PoolKind::max, {1, 1, 2}, {1, 1, 2}};
    if (kind == 4) node = {node.name, Add{}, {input, upto(i + 1) - 1}};
    if (kind == 5) node = {node.name, Concat{}, {upto(i + 1) - 1, input}};
    network.nodes.push_back(std::move(node));
  }
  return network;
}

TEST(PlannerSearch, EqualsBruteForceOnRandomNets) {
  std::mt19937 random(7);
  int planned = 0;
  for (int i = 0; i < 60; ++i) {
    const Network network = random_network(random);
    if (!check(network)) continue;
    SCOPED_TRACE("net " + std::to_string(i) + " of seed 7");
    SearchOptions options = small_options(0);
    options.most_extent = 3;
    for (const std::int64_t limit : {600, 1500, 4000, 100000}) {
      options.memory_limit = limit;
      expect_equal_to_brute_force(network, options);
      planned += run(network, options) ? 1 : 0;
    }
  }
  EXPECT_GT(planned, 30);
}

// Modes drawn for every pooling, groups that divide no stride among them.
std::vector<PoolingMode> random_modes(const Network& network, std::mt19937& random) {
  const std::array<PoolingMode, 6> all = {PoolMode::plain,
                                          PoolMode::fragments,
                                          PoolingMode({1, 1, 2}, true),
                                          PoolingMode({1, 1, 2}, false),
                                          PoolingMode({2, 1, 1}, true),
                                          PoolMode::fragments};
  std::vector<PoolingMode> modes;
  for (std::size_t i = 0; i < pooling_nodes(network).size(); ++i) modes.push_back(all[random() % all.size()]);
  return modes;
}

// Each pin in every other case, so that they compose.
Pins random_pins(const Network& network, std::mt19937& random) {
  const auto upto = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  Pins pins;
  if (upto(2) == 1) pins.patch = Vec3{upto(4), upto(4), upto(4)};
  if (upto(3) == 1) pins.patch = Vec3::cube(upto(4));
  if (upto(2) == 1) pins.modes = random_modes(network, random);
  if (upto(3) == 1) pins.S = upto(3);
  pins.streams = upto(3) > 1;
  pins.groups = upto(3) > 1;
  return pins;
}

// What no pin can mend is told, with the flag in it; what can be planned is the best of all that satisfies the pins.
TEST(PlannerSearch, EqualsBruteForceUnderPins) {
  std::mt19937 random(11);
  int planned = 0;
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    const Network network = i % 4 == 0 ? drawn::chain(3) : random_network(random);
    if (!check(network)) continue;
    SearchOptions options = small_options(i % 3 == 0 ? 4000 : 100000);
    options.most_extent = 4;
    options.pins = random_pins(network, random);
    SCOPED_TRACE("net " + std::to_string(i) + " of seed 11: " + to_string(options.pins));
    if (check_options(network, options)) {
      expect_equal_to_brute_force(network, options);
    } else {
      EXPECT_EQ(BruteForce(network, options).tried(), 0);
    }
    const Result<Plan> plan = run(network, options);
    (plan ? planned : refused) += 1;
    if (plan) {
      EXPECT_EQ(plan->key.pins, to_string(options.pins));
    } else if (plan.error().code == ErrorCode::invalid_argument && options.pins != Pins()) {
      EXPECT_NE(plan.error().message.find("--"), std::string::npos) << plan.error().message;
    }
  }
  EXPECT_GT(planned, 60);
  EXPECT_GT(refused, 60);
}

TEST(PlannerSearch, WithoutStreamsAndGroupsPlansAreLayerwise) {
  for (const std::int64_t limit : {9000, 25000, 1000000}) {
    SearchOptions options = small_options(limit);
    options.most_extent = 12;
    options.ladder = true;
    options.strategy = Strategy::layerwise;
    const Plan layerwise = run(drawn::chain(), options).value();
    options.strategy = Strategy::cpu;
    options.pins.streams = options.pins.groups = false;
    const Plan pinned = run(drawn::chain(), options).value();
    EXPECT_EQ(pinned.ladder, layerwise.ladder);
    EXPECT_EQ(pinned.predicted, layerwise.predicted);
  }
}

// Patches beyond what is looked at by itself, and larger than the volume.
TEST(PlannerSearch, PinsMayNameWhatIsNotLookedAt) {
  SearchOptions options = small_options(std::int64_t{1} << 40);
  options.volume = Vec3::cube(9);
  options.pins.patch = Vec3{22, 6, 14};
  options.pins.S = 7;
  const Plan plan = run(drawn::chain(3), options).value();
  const Geometry geometry = make_geometry(drawn::chain(3), plan.ladder.front().geometry).value();
  EXPECT_EQ(geometry.patch_input, *options.pins.patch);
  EXPECT_EQ(geometry.choice.S, 7);
}

TEST(PlannerSearch, SmallerRungsChooseTheirOwnPatch) {
  SearchOptions options;
  options.most_extent = 60;
  options.memory_limit = 8 << 20;
  options.pins.patch = Vec3::cube(34);
  options.pins.modes = {PoolMode::plain};
  options.pins.streams = false;
  const Plan plan = run(drawn::chain(), options).value();
  EXPECT_GE(plan.ladder.size(), 3U);
  for (const Rung& rung : plan.ladder) EXPECT_EQ(rung.geometry.modes, options.pins.modes);
  EXPECT_EQ(make_geometry(drawn::chain(), plan.ladder.front().geometry)->patch_input, Vec3::cube(34));
}

TEST(PlannerSearch, ALimitThatIsTooSmallIsToldWithThePins) {
  SearchOptions options = small_options(10);
  options.pins.S = 2;
  const Result<Plan> refused = run(drawn::chain(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_NE(refused.error().message.find("chain with --S 2"), std::string::npos) << refused.error().message;
}

// Reads and writes planar images; the fast way keeps a transform of every image, the slow one nothing (Table IV).
Estimate way(const LayerProblem& problem, const char* name, Seconds time, std::int64_t scratch) {
  Estimate made{{{name, 1}}, {}, {}, time, input_output_buffers(problem, {}, {})};
  if (scratch > 0) made.memory.push_back({"scratch", MemorySpace::host, scratch, Lifetime::stages(0, 0)});
  return made;
}

// The larger the batch, the less an input costs.
Result<std::vector<Estimate>> describe_golden(const LayerProblem& problem, const DeviceSpec&) {
  if (std::holds_alternative<ReorderProblem>(problem)) return Error{ErrorCode::unsupported, "no reorders"};
  const auto bytes = static_cast<std::int64_t>(tensor_bytes(input_shape(problem, 0), {}));
  const double flops = direct_flops(problem);
  const Seconds start = 1e-3;
  if (!std::holds_alternative<ConvProblem>(problem)) return std::vector<Estimate>{way(problem, "any", 1e-9 * flops, 0)};
  return std::vector<Estimate>{way(problem, "fast", start + 1e-9 * flops, 8 * bytes),
                               way(problem, "slow", start + 3e-9 * flops, 0)};
}
constexpr Primitive golden = {"golden.any", 1, DeviceKind::cpu, describe_golden, drawn::never_prepared};
constexpr std::array<const Primitive*, 1> all_golden = {&golden};
constexpr Backend golden_backend = {"golden", drawn::probe, drawn::open, all_golden};

// Of patches alone: what a stream would gain is another test's.
Plan golden_plan(const Network& network, SearchOptions options) {
  options.strategy = Strategy::patches;
  constexpr std::array<const Backend*, 1> backends = {&golden_backend};
  const Catalogue catalogue = Catalogue::make(backends).value();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  const DeviceSpec spec = test::drawn_device();
  Result<Plan> plan = search(network, spec, catalogue, *costs, options);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  return *std::move(plan);
}

TEST(PlannerSearch, GoldenABatchWinsWhereExtentsEnd) {
  SearchOptions options = small_options(1 << 26);
  options.most_S = 4;
  options.most_extent = 8;
  const Plan plan = golden_plan(drawn::chain(3), options);
  EXPECT_EQ(plan.ladder.front().geometry.S, 4);
  options.most_S = 1;
  EXPECT_LT(golden_plan(drawn::chain(3), options).predicted.voxels_per_second, plan.predicted.voxels_per_second);
}

TEST(PlannerSearch, GoldenUnderATightLimitTheSlowerSmallerWayWins) {
  const auto chosen = [](std::int64_t limit) {
    SearchOptions options = small_options(limit);
    options.most_S = 1;
    options.most_extent = 40;
    Network network;
    network.name = "one";
    network.nodes = {{"conv1", drawn::convolution(1, Vec3::cube(9)), {0}}};
    const Plan plan = golden_plan(network, options);
    return std::pair{plan.ladder.front().segments.front().steps.back().variant.front().name,
                     plan.ladder.front().geometry.pass_input};
  };
  EXPECT_EQ(chosen(1 << 26), (std::pair{std::string("fast"), Vec3::cube(40)}));
  // Where the fast way would only get a patch of little more than the window, the slow one's larger patch pays.
  EXPECT_EQ(chosen(40000).first, "slow");
}

// Where memory is short, little of a column's length is wasted by streaming it, and much by patches.
TEST(PlannerSearch, EqualsBruteForceWhereStreamsWinAndWhereTheyMayNot) {
  int streamed = 0;
  for (const std::int64_t limit : {9000, 14000, 25000, 60000}) {
    SearchOptions options = small_options(limit);
    options.most_extent = 8;
    options.most_S = 1;
    expect_equal_to_brute_force(drawn::chain(4), options);
    const Result<Plan> free = run(drawn::chain(4), options);
    options.strategy = Strategy::patches;
    expect_equal_to_brute_force(drawn::chain(4), options);
    const Result<Plan> patches = run(drawn::chain(4), options);
    ASSERT_TRUE(free && patches);
    EXPECT_GE(free->predicted.voxels_per_second, patches->predicted.voxels_per_second);
    EXPECT_FALSE(patches->ladder.front().geometry.streamed);
    EXPECT_EQ(patches->key.strategy, "patches");
    streamed += free->ladder.front().geometry.streamed ? 1 : 0;
  }
  EXPECT_GT(streamed, 0);
}

// What a column keeps is a quarter in four turns: where memory is short its cross-section is wider, and pays for the
// cheap first layer that runs in each.
TEST(PlannerSearch, GoldenColumnsTakeTurnsWhereMemoryIsShortAndAnotherDeliversAsItGoes) {
  Network network;
  network.name = "deep";
  network.nodes = {{"conv1", drawn::convolution(2, Vec3::cube(2)), {0}}, {"pool1", Pooling{}, {1}}};
  for (int node = 2; node < 5; ++node) {
    network.nodes.push_back({"conv" + std::to_string(node), drawn::convolution(8, Vec3::cube(3)), {node}});
  }
  int in_turns = 0;
  int prompt = 0;
  for (const std::int64_t limit : {100000, 200000, 400000, 800000}) {
    SearchOptions options = small_options(limit);
    options.most_extent = 60;
    options.most_S = 1;
    options.ladder = true;
    const Result<Plan> plan = run(network, options);
    ASSERT_TRUE(plan);
    const Rung& first = plan->ladder.front();
    const Geometry geometry = make_geometry(network, first.geometry).value();
    if (geometry.turns == 1) continue;
    ++in_turns;
    const double written = plan->predicted.voxels_per_second * first.seconds;
    EXPECT_NEAR(written, static_cast<double>(written_voxels(geometry)), 1e-3);
    if (plan->ladder.size() == 1 || !plan->ladder[1].geometry.streamed) continue;
    ++prompt;
    const Rung& second = plan->ladder[1];
    EXPECT_TRUE(has_one_turn(second.geometry.modes));
    const Geometry other = make_geometry(network, second.geometry).value();
    EXPECT_GT(plan->predicted.voxels_per_second, static_cast<double>(written_voxels(other)) / second.seconds);
    EXPECT_FALSE(plan->ladder.size() > 2 && plan->ladder[2].geometry.streamed);
  }
  EXPECT_GT(in_turns, 0);
  EXPECT_GT(prompt, 0);
}

TEST(PlannerSearch, BaselineIsAllPlain) {
  SearchOptions options = small_options(1000000);
  options.strategy = Strategy::baseline;
  expect_equal_to_brute_force(drawn::chain(3), options);
  const Result<Plan> plan = run(drawn::chain(3), options);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->ladder.front().geometry.modes, std::vector<PoolingMode>{PoolMode::plain});
  EXPECT_EQ(plan->key.strategy, "baseline");
}

TEST(PlannerSearch, MoreMemoryIsNeverSlowerAndNeverExceeded) {
  SearchOptions options;
  options.most_extent = 14;
  double before = 0;
  for (std::int64_t limit = 4096; limit < (1 << 22); limit = limit * 5 / 4) {
    options.memory_limit = limit;
    const Result<Plan> plan = run(drawn::chain(), options);
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
  options.most_extent = 16;
  options.memory_limit = 1 << 20;
  SearchLog log;
  const Result<Plan> first = run(drawn::chain(), options);
  const Result<Plan> second = run(drawn::chain(), options, &log);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_FALSE(log.candidates.empty());
}

// Of primitives that take the same time and memory the first by name is planned, so that plans do not change with the
// order of registration.
TEST(PlannerSearch, OfPrimitivesThatTieTheFirstByNameWins) {
  const std::array<Primitive, 3> twins = drawn::twins_of(drawn::conv);
  const std::array<const Primitive*, 5> primitives = {&twins[0], &twins[1], &twins[2], &drawn::rest, &drawn::reorder};
  const Backend backend{"twins", nullptr, nullptr, primitives};
  const std::array<const Backend*, 1> backends = {&backend};
  const DeviceSpec spec = test::drawn_device();
  const Catalogue catalogue = Catalogue::make(backends).value();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  for (const std::int64_t limit : {9000, 60000, 1000000}) {
    const Result<Plan> plan = search(drawn::chain(), spec, catalogue, *costs, small_options(limit), nullptr);
    ASSERT_TRUE(plan) << plan.error().message;
    for (const Step& step : plan->ladder.front().segments.front().steps) {
      const bool is_convolution = step.node >= 0 && step.primitive.starts_with("twin.");
      EXPECT_TRUE(!is_convolution || step.primitive == "twin.a") << step.primitive << " at " << limit;
    }
  }
}

TEST(PlannerSearch, NamesTheSmallestBudgetThatWouldDo) {
  SearchOptions options = small_options(1);
  for (const Network& network : {drawn::chain(3), drawn::chain(), drawn::branches()}) {
    options.memory_limit = 1;
    const Result<Plan> refused = run(network, options);
    ASSERT_FALSE(refused);
    ASSERT_EQ(refused.error().code, ErrorCode::over_budget) << refused.error().message;
    const std::string& message = refused.error().message;
    const std::int64_t needed = std::stoll(message.substr(message.find("would do is ") + 12));
    options.memory_limit = needed;
    const Result<Plan> plan = run(network, options);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->memory.total(), needed);
    options.memory_limit = needed - 1;
    EXPECT_FALSE(run(network, options));
  }
}

TEST(PlannerSearch, LadderFallsWithinTheFirstRungsArena) {
  SearchOptions options;
  options.most_extent = 60;
  options.memory_limit = 8 << 20;
  const Network network = drawn::chain();
  const Result<Plan> plan = run(network, options);
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
    EXPECT_TRUE(!rung.geometry.streamed || rung == plan->ladder.front() || has_one_turn(rung.geometry.modes));
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

TEST(PlannerSearch, RowsStayLongWhereVoxelsNeedNoNeighbours) {
  Network network;
  network.nodes = {{"conv", drawn::convolution(1, Vec3::cube(1)), {0}}};
  SearchOptions options = small_options(1 << 26);
  options.most_extent = 64;
  options.ladder = true;
  const Plan plan = golden_plan(network, options);
  EXPECT_EQ(plan.ladder.at(1).geometry.pass_input, (Vec3{4, 32, 64}));
}

TEST(PlannerSearch, ForcedPrimitivesAreUsed) {
  SearchOptions options = small_options(1 << 20);
  for (const char* name : {"drawn.conv.a", "drawn.conv.b"}) {
    options.force = {{"conv1", name}, {"2", name}};
    const Result<Plan> plan = run(drawn::chain(), options);
    ASSERT_TRUE(plan);
    for (const Step& step : plan->ladder.front().segments.front().steps) {
      if (step.node == 0 || step.node == 2) {
        EXPECT_EQ(step.primitive, name);
      }
    }
  }
}

TEST(PlannerSearch, RefusesWhatCannotBeForced) {
  SearchOptions options = small_options(1 << 20);
  options.force = {{"conv3", "drawn.conv.b"}};  // refuses k = 1
  const Result<Plan> refused = run(drawn::chain(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("node conv3: drawn.conv.b: k = 1x1x1"), std::string::npos)
      << refused.error().message;
  options.force = {{"conv9", "drawn.conv.b"}};
  EXPECT_NE(run(drawn::chain(), options).error().message.find("no node 'conv9'"), std::string::npos);
  options.force = {{"conv1", "drawn.conv.c"}};
  EXPECT_NE(run(drawn::chain(), options).error().message.find("no primitive"), std::string::npos);
}

TEST(PlannerSearch, RefusesAVolumeSmallerThanTheFieldOfView) {
  SearchOptions options = small_options(1 << 20);
  options.volume = Vec3{2, 9, 9};
  const Result<Plan> refused = run(drawn::chain(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

TEST(PlannerSearch, StopsWithTheBestSoFar) {
  SearchOptions options;
  options.memory_limit = 1 << 30;
  options.most_extent = 40;
  int polls = 0;
  options.stop = [&] { return ++polls > 20000; };
  EXPECT_TRUE(run(drawn::chain(), options));
  options.stop = [] { return true; };
  const Result<Plan> stopped = run(drawn::chain(), options);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
}

// Convolutions that count how often they are asked: by searches of these tests, on one thread.
int described = 0;
Result<std::vector<Estimate>> describe_and_count(const LayerProblem& problem, const DeviceSpec& spec) {
  ++described;
  return drawn::describe_conv(problem, spec);
}

Network deep_chain(std::size_t convolutions) {
  Network network;
  network.name = "deep";
  for (std::size_t i = 0; i < convolutions; ++i) {
    network.nodes.push_back({"conv" + std::to_string(i), drawn::convolution(4, Vec3::cube(2)), {static_cast<int>(i)}});
  }
  return network;
}

// A stop comes after any number of questions: while candidates are made, laid out, described, combined or scheduled.
TEST(PlannerSearch, DescribesOneLayerBetweenTwoQuestionsAndNoneAfterAStop) {
  static constexpr Primitive counted = {"drawn.conv.a", 1, DeviceKind::cpu, describe_and_count, drawn::never_prepared};
  static constexpr std::array<const Primitive*, 2> primitives = {&counted, &drawn::reorder};
  static constexpr Backend backend = {"drawn", drawn::probe, drawn::open, primitives};
  const Catalogue catalogue = Catalogue::make(std::array<const Backend*, 1>{&backend}).value();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  SearchOptions options;
  options.memory_limit = 1 << 24;
  options.most_extent = 48;
  int asked = 0;
  int at_stop = 0;
  int most_between = 0;
  for (int most = 1; most < 20'000; most += 1 + most / 3) {
    SCOPED_TRACE("stopped at question " + std::to_string(most));
    asked = 0;
    at_stop = described;
    options.stop = [&] {
      most_between = std::max(most_between, described - at_stop);
      at_stop = described;
      return ++asked >= most;
    };
    const Result<Plan> plan = search(deep_chain(30), DeviceSpec{}, catalogue, *costs, options);
    EXPECT_LE(std::max(most_between, described - at_stop), 2);
    EXPECT_TRUE(plan || plan.error().code == ErrorCode::cancelled);
  }
}

TEST(PlannerSearch, LogShowsEveryWayOfEveryNodeBestFirst) {
  SearchLog log;
  const Result<Plan> plan = run(drawn::chain(), small_options(1 << 20), &log);
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
  const Result<Plan> plan = run(drawn::chain(3), options);
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
  EXPECT_EQ(*run(drawn::chain(3), options), *plan) << "whether anybody listens or not";
}

}  // namespace
}  // namespace znni
