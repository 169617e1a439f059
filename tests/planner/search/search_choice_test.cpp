#include "planner/search/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "planner/geometry/streams.hpp"
#include "planner/plan/pairs.hpp"
#include "tests/planner/drawn_plan.hpp"

namespace znni {
namespace {

using test::drawn_plan;
using test::small_options;

// A first layer and its pooling in one call, where a primitive takes both: faster, and in memory that is too small for
// the tensor between them. Who forces a primitive that takes one of them alone gets that.
TEST(PlannerSearch, ComputesPairsWhereThatIsFasterOrSmaller) {
  const Network network = drawn::chain(3);
  int pairs = 0;
  int apart = 0;
  for (const std::int64_t limit : {2000, 6000, 9000, 14000, 25000, 60000, 1000000}) {
    SearchOptions options = small_options(limit);
    const Result<Plan> plan = drawn_plan(network, options);
    if (!plan) continue;
    const std::vector<Step>& steps = plan->ladder.front().segments.front().steps;
    const bool in_pairs = std::any_of(steps.begin(), steps.end(), is_joined);
    (in_pairs ? pairs : apart) += 1;
    options.force = {{"conv1", "drawn.conv.a"}};
    const Result<Plan> forced = drawn_plan(network, options);
    if (!forced) continue;
    const std::vector<Step>& alone = forced->ladder.front().segments.front().steps;
    EXPECT_TRUE(std::none_of(alone.begin(), alone.end(), is_joined));
    EXPECT_LE(forced->predicted.voxels_per_second, plan->predicted.voxels_per_second);
  }
  EXPECT_GT(pairs, 0);
  EXPECT_GT(apart + pairs, 3);
}

// Reads and writes planar channels; the fast way keeps a transform of every channel, the slow one nothing (Table IV).
Estimate way(const LayerProblem& problem, const char* name, Seconds time, std::int64_t scratch) {
  Estimate made{{{name, 1}}, {}, {}, time, input_output_buffers(problem, {}, {})};
  if (scratch > 0) made.memory.push_back({"scratch", MemorySpace::host, scratch, Lifetime::stages(0, 0)});
  return made;
}

// Describes ways of which an input costs less the larger the batch.
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

// Plans patches alone: another test covers what a stream would gain.
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
  options.max_S = 4;
  options.max_extent = 8;
  const Plan plan = golden_plan(drawn::chain(3), options);
  EXPECT_EQ(plan.ladder.front().geometry.S, 4);
  options.max_S = 1;
  EXPECT_LT(golden_plan(drawn::chain(3), options).predicted.voxels_per_second, plan.predicted.voxels_per_second);
}

TEST(PlannerSearch, GoldenUnderATightLimitTheSlowerSmallerWayWins) {
  const auto chosen = [](std::int64_t limit) {
    SearchOptions options = small_options(limit);
    options.max_S = 1;
    options.max_extent = 40;
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

// A column keeps a quarter in four phases. If memory is short, its cross-section is wider, and pays for the cheap first
// layer that runs in each phase.
TEST(PlannerSearch, GoldenColumnsHavePhasesWhereMemoryIsShortAndAnotherDeliversAsItGoes) {
  Network network;
  network.name = "deep";
  network.nodes = {{"conv1", drawn::convolution(2, Vec3::cube(2)), {0}}, {"pool1", Pooling{}, {1}}};
  for (int node = 2; node < 5; ++node) {
    network.nodes.push_back({"conv" + std::to_string(node), drawn::convolution(8, Vec3::cube(3)), {node}});
  }
  int in_phases = 0;
  int prompt = 0;
  for (const std::int64_t limit : {100000, 200000, 400000, 800000}) {
    SearchOptions options = small_options(limit);
    options.max_extent = 60;
    options.max_S = 1;
    options.ladder = true;
    const Result<Plan> plan = drawn_plan(network, options);
    ASSERT_TRUE(plan);
    const Rung& first = plan->ladder.front();
    const Geometry geometry = make_geometry(network, first.geometry).value();
    if (geometry.phases == 1) continue;
    ++in_phases;
    const double written = plan->predicted.voxels_per_second * first.seconds;
    EXPECT_NEAR(written, static_cast<double>(written_voxels(geometry)), 1e-3);
    if (plan->ladder.size() == 1 || !plan->ladder[1].geometry.streamed) continue;
    ++prompt;
    const Rung& second = plan->ladder[1];
    EXPECT_TRUE(has_one_phase(second.geometry.modes));
    const Geometry other = make_geometry(network, second.geometry).value();
    EXPECT_GT(plan->predicted.voxels_per_second, static_cast<double>(written_voxels(other)) / second.seconds);
    EXPECT_FALSE(plan->ladder.size() > 2 && plan->ladder[2].geometry.streamed);
  }
  EXPECT_GT(in_phases, 0);
  EXPECT_GT(prompt, 0);
}

// The plan takes the first by name of primitives that take the same time and memory, so that it does not change with
// the order of registration.
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

TEST(PlannerSearch, RowsStayLongWhereVoxelsNeedNoNeighbours) {
  Network network;
  network.nodes = {{"conv", drawn::convolution(1, Vec3::cube(1)), {0}}};
  SearchOptions options = small_options(1 << 26);
  options.max_extent = 64;
  options.ladder = true;
  const Plan plan = golden_plan(network, options);
  EXPECT_EQ(plan.ladder.at(1).geometry.pass_input, (Vec3{4, 32, 64}));
}

}  // namespace
}  // namespace znni
