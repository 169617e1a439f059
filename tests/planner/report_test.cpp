#include "planner/report.hpp"

#include <algorithm>

#include "tests/planner/planned.hpp"

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

TEST(PlannerReport, PlansOfOtherNetworksAreErrors) {
  const test::Planned planned;
  EXPECT_FALSE(make_report(drawn::branches(), planned.plan, planned.catalogue, planned.spec));
  EXPECT_FALSE(make_report(drawn::chain(3), planned.plan, planned.catalogue, planned.spec));
  EXPECT_FALSE(make_report(planned.network, Plan{}, planned.catalogue, planned.spec));
}

}  // namespace
}  // namespace znni
