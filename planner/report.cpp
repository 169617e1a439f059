#include "planner/report.hpp"

#include <algorithm>

#include "planner/schedule.hpp"

namespace znni {
namespace {

std::int64_t live_bytes(const MemoryPlan& memory, int stage) {
  std::int64_t sum = 0;
  for (const Buffer& buffer : memory) {
    const Lifetime& life = buffer.lifetime;
    if (!life.persistent && life.first <= stage && stage <= life.last) {
      sum = add(sum, round_up(buffer.bytes, buffer_alignment));
    }
  }
  return sum;
}

// A step is one call or two.
void add_memory(const Schedule& schedule, std::vector<NodeReport>& nodes) {
  for (const Call& call : schedule.calls) {
    NodeReport& node = nodes[static_cast<std::size_t>(call.step)];
    node.persistent = add(node.persistent, persistent_bytes(call.estimate.memory));
    const int stages = stage_count(call.estimate.memory);
    for (int stage = 0; stage < stages; ++stage) {
      node.peak = std::max(node.peak, live_bytes(schedule.memory, call.first_stage + stage));
    }
  }
}

std::optional<PoolingMode> pooling_mode(const Network& network, const Geometry& geometry, int node) {
  const std::vector<int> poolings = pooling_nodes(network);
  const auto found = std::find(poolings.begin(), poolings.end(), node);
  if (found == poolings.end()) return std::nullopt;
  return geometry.choice.modes[static_cast<std::size_t>(found - poolings.begin())];
}

NodeReport describe_step(const Network& network, const Geometry& geometry, const Step& step) {
  if (step.node < 0) return {-1, network.input_name, &step, std::nullopt, geometry.values.front(), 0, 0, 0};
  const auto node = static_cast<std::size_t>(step.node);
  const LayerProblem& problem = geometry.problems[node];
  return {step.node,
          network.nodes[node].name,
          &step,
          pooling_mode(network, geometry, step.node),
          geometry.values[node + 1],
          direct_flops(problem),
          0,
          0};
}

}  // namespace

Result<PlanReport> make_report(const Network& network, const Plan& plan, const Catalogue& catalogue,
                               const DeviceSpec& spec) {
  if (plan.ladder.empty()) return Error{ErrorCode::invalid_argument, "the plan has no patch"};
  const Rung& rung = plan.ladder.front();
  Result<Geometry> geometry = make_geometry(network, rung.geometry);
  if (!geometry) return geometry.error();
  PlanReport report;
  std::vector<Step> steps;
  for (const Segment& segment : rung.segments) {
    for (const Step& step : segment.steps) {
      if (step.node >= static_cast<int>(network.nodes.size())) {
        return Error{ErrorCode::invalid_argument, "the plan has a step for node " + std::to_string(step.node) +
                                                      "; the network has " + std::to_string(network.nodes.size())};
      }
      report.nodes.push_back(describe_step(network, *geometry, step));
      steps.push_back(step);
    }
  }
  const Result<Schedule> schedule = make_schedule(network, *geometry, steps, catalogue, spec);
  if (!schedule) return schedule.error();
  add_memory(*schedule, report.nodes);
  report.history_bytes = history_bytes(*schedule);
  report.input = {rung.geometry.S, network.f_in, geometry->patch_input};
  report.output = {rung.geometry.S, geometry->values.back().f, geometry->patch_output};
  report.geometry = *std::move(geometry);
  return report;
}

}  // namespace znni
