#include "planner/report/report.hpp"

#include <algorithm>

#include "tests/planner/planned.hpp"
#include "tests/planner/recorded_machine.hpp"

namespace znni {
namespace {

TEST(PlannerReport, AddsUpToThePlan) {
  for (const Network& network : {drawn::chain(), drawn::branches()}) {
    const test::Planned planned(network);
    const Result<PlanReport> report = make_report(network, planned.plan, planned.catalogue, planned.spec);
    ASSERT_TRUE(report) << report.error().message;
    const Rung& first = planned.plan.ladder.front();
    std::int64_t persistent = 0;
    std::int64_t peak = 0;
    Seconds seconds = 0;
    for (const NodeReport& node : report->nodes) {
      persistent += node.persistent;
      peak = std::max(peak, node.peak);
      seconds += node.step->seconds;
      if (node.node >= 0) {
        EXPECT_EQ(node.name, network.nodes[static_cast<std::size_t>(node.node)].name);
        EXPECT_EQ(node.shape, report->geometry.values[static_cast<std::size_t>(node.node) + 1]);
      }
    }
    EXPECT_EQ(persistent, first.memory.persistent);
    EXPECT_EQ(peak, first.memory.transient);
    EXPECT_LE(seconds, first.seconds);
  }
}

TEST(PlannerReport, ShapesAreThoseOfAPatch) {
  const test::Planned planned;
  const Result<PlanReport> report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec);
  ASSERT_TRUE(report);
  const std::int64_t S = planned.plan.ladder.front().geometry.S;
  EXPECT_EQ(report->input, (Shape5{S, 1, report->geometry.patch_input}));
  EXPECT_EQ(report->output, (Shape5{S, 2, report->geometry.patch_output}));
  for (const NodeReport& node : report->nodes) EXPECT_EQ(node.mode.has_value(), node.name == "pool1");
}

// The reach has as many voxels as the primitives of the nodes spread errors over.
TEST(PlannerReport, TellsHowFarRoundingErrorsReach) {
  int transformed = 0;
  for (const Network& network : {drawn::chain(), drawn::branches(), drawn::residuals()}) {
    const test::Planned planned(network);
    const Result<PlanReport> report = make_report(network, planned.plan, planned.catalogue, planned.spec);
    ASSERT_TRUE(report) << report.error().message;
    std::vector<Vec3> spreads(network.nodes.size());
    for (const NodeReport& node : report->nodes) {
      if (node.step->primitive != "drawn.conv.b") continue;
      ++transformed;
      const auto index = static_cast<std::size_t>(node.node);
      spreads[index] = spread_of_whole(std::get<ConvProblem>(report->geometry.problems[index]));
      EXPECT_EQ(node.spread, spreads[index]);
    }
    EXPECT_EQ(report->rounding, rounding_reach(network, report->geometry, spreads));
  }
  EXPECT_GT(transformed, 0);
}

TEST(PlannerReport, PlansOfOtherNetworksAreErrors) {
  const test::Planned planned;
  EXPECT_FALSE(make_report(drawn::branches(), planned.plan, planned.catalogue, planned.spec));
  EXPECT_FALSE(make_report(drawn::chain(3), planned.plan, planned.catalogue, planned.spec));
  EXPECT_FALSE(make_report(planned.network, Plan{}, planned.catalogue, planned.spec));
}

// Over a CPU and a GPU: nodes of all segments in order, each with its place and the bytes of that place's memory.
TEST(PlannerReport, OfPlacesAddsUpInEveryMemory) {
  const Network network = drawn::chain(3);
  const RecordedPrimitives recorded =
      RecordedPrimitives::make(test::recorded_rows(network, 1), test::recorded_machine(), {}).value();
  const std::array<const Backend*, 1> backends = {&recorded.backend()};
  const Catalogue catalogue = Catalogue::make(backends).value();
  const MachinePlaces places = places_of(test::recorded_machine()).value();
  const std::unique_ptr<CostSource> costs = recorded.costs(modelled_costs());
  SearchOptions options;
  options.memory_limit = test::gibibyte;
  options.max_extent = 40;
  options.ladder = false;  // rungs of the CPU alone would count as well
  for (const SplitStrategy strategy : {SplitStrategy::gpu, SplitStrategy::cpu_gpu}) {
    const SplitPlan plan = plan_split(network, catalogue, *costs, places, strategy, options).value();
    const PlanReport report = make_report(network, plan, catalogue, places.specs).value();
    ASSERT_TRUE(report.places);
    EXPECT_EQ(report.places->theta, plan.theta);
    EXPECT_EQ(report.places->bytes.device, plan.bytes.device);
    EXPECT_EQ(report.places->bytes.host, plan.bytes.host + weight_bytes(network));
    EXPECT_TRUE(report.places->bytes.covers(report.places->kept));
    EXPECT_EQ(report.input.n, report.geometry.patch_input);
    ASSERT_EQ(report.nodes.size(), network.nodes.size());
    for (std::size_t i = 0; i < report.nodes.size(); ++i) {
      const NodeReport& node = report.nodes[i];
      EXPECT_EQ(node.node, static_cast<int>(i));
      EXPECT_EQ(node.place == Place::gpu, node.node >= plan.theta);
      EXPECT_GE(node.runs, 1);
      EXPECT_LE(node.peak, node.place == Place::gpu ? plan.bytes.device : plan.bytes.host);
    }
  }
}

// Time and operations of a node are those of one run, be it of a micro-batch.
TEST(PlannerReport, OperationsAreThoseOfOneRun) {
  const Network network = drawn::chain(3);
  const RecordedPrimitives recorded =
      RecordedPrimitives::make(test::recorded_rows(network, 1), test::recorded_machine(), {}).value();
  const std::array<const Backend*, 1> backends = {&recorded.backend()};
  const Catalogue catalogue = Catalogue::make(backends).value();
  MachinePlaces places = places_of(test::recorded_machine()).value();
  const std::unique_ptr<CostSource> costs = recorded.costs(modelled_costs());
  SearchOptions options;
  options.memory_limit = test::gibibyte;
  options.max_extent = 24;
  options.ladder = false;
  options.pins.S = 8;
  int in_micro_batches = 0;
  for (places.memory.device = 1 << 22; places.memory.device > 1 << 15; places.memory.device /= 2) {
    const Result<SplitPlan> plan = plan_split(network, catalogue, *costs, places, SplitStrategy::cpu_gpu, options);
    if (!plan) continue;
    const PlanReport report = make_report(network, *plan, catalogue, places.specs).value();
    const RungSegments parts = take_apart(network, plan->plan.ladder.front(), catalogue, places.specs).value();
    auto node = report.nodes.begin();
    for (const SegmentDesign& segment : parts.segments) {
      in_micro_batches += segment.micro_batches() > 1 ? 1 : 0;
      for (const LayerProblem& problem : segment.geometry.problems) {
        const ConvProblem* const conv = convolution_of(problem);
        EXPECT_EQ(node->spread, conv == nullptr ? Vec3{} : spread_of_whole(*conv));
        EXPECT_DOUBLE_EQ((node++)->flops, direct_flops(problem));
      }
    }
    EXPECT_EQ(node, report.nodes.end());
  }
  EXPECT_GT(in_micro_batches, 0);
}

}  // namespace
}  // namespace znni
