// The facts of a report on a small planned network, for tests of charts and of the page.
#pragma once

#include "planner/report/report_facts.hpp"
#include "tests/planner/planned.hpp"

namespace znni::test {

// Has curves and a measured run of every node, which took twice as long as predicted.
struct Reported {
  explicit Reported(Network network = drawn::chain())
      : planned(std::move(network)),
        report(make_report(planned.network, planned.plan, planned.catalogue, planned.spec).value()),
        curves{{"cpu",
                {{1 << 19, {}, 0, 0}, {1 << 20, Vec3::cube(10), 100, 1 << 19}, {1 << 21, Vec3::cube(20), 200, 1 << 20}},
                {{1 << 20, Vec3::cube(10), 100, 1 << 19}, {1 << 20, Vec3::cube(30), 0, 0}}}} {
    RunRecord bench{"znni-bench net", planned.plan.predicted.voxels_per_second / 2, std::nullopt, std::nullopt, {}, {}};
    for (const NodeReport& node : report.nodes) {
      bench.nodes.push_back({node.name, node.step->primitive, 2 * seconds_in_patch(node)});
    }
    measured = {bench, {"znni infer, 4x5x6 voxels out", 30, 40, {}, {}, {}}};
  }

  // Return facts as the command line asks for them: nothing more than the plan, or all.
  [[nodiscard]] ReportFacts plain() const {
    return {planned.network, planned.plan, report, planned.log, nothing_measured, {}, "", origin};
  }
  [[nodiscard]] ReportFacts whole() const {
    return {planned.network, planned.plan, report, planned.log, measured, curves, "with 1 GiB more, 2 x", origin};
  }

  Planned planned;
  PlanReport report;
  std::vector<StrategyCurves> curves;
  std::vector<RunRecord> measured;
  std::vector<RunRecord> nothing_measured;
  PageOrigin origin{"2026-11-25 11:02 UTC", "1.2.3", "planner --model '<a> b.onnx' --report page.html"};
};

}  // namespace znni::test
