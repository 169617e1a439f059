#include "planner/report/report.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "planner/layers/schedule.hpp"
#include "planner/layers/segments.hpp"

namespace znni {
namespace {

std::int64_t live_bytes(const MemoryPlan& memory, MemorySpace space, int stage) {
  std::int64_t sum = 0;
  for (const Buffer& buffer : memory) {
    const Lifetime& life = buffer.lifetime;
    if (buffer.space == space && !life.persistent && life.first <= stage && stage <= life.last) {
      sum = add(sum, round_up(buffer.bytes, buffer_alignment));
    }
  }
  return sum;
}

// Adds the calls' bytes and spread to the nodes. A step is one call or two. `nodes`: one for each step.
void add_calls(const Schedule& schedule, MemorySpace space, std::span<NodeReport> nodes) {
  for (const Call& call : schedule.calls) {
    NodeReport& node = nodes[static_cast<std::size_t>(call.step)];
    node.persistent = add(node.persistent, persistent_bytes(call.estimate.memory, space));
    node.spread = max(node.spread, call.estimate.spread);
    const int stages = stage_count(call.estimate.memory);
    for (int stage = 0; stage < stages; ++stage) {
      node.peak = std::max(node.peak, live_bytes(schedule.memory, space, call.first_stage + stage));
    }
  }
}

// Returns the bytes of a node's own copy of its kernels, which exists if axes are swapped.
std::int64_t swapped_kernel_bytes(const Geometry& geometry, int node) {
  if (geometry.choice.axis == 0 || node < 0) return 0;
  const auto* const conv = std::get_if<ConvProblem>(&geometry.problems[static_cast<std::size_t>(node)]);
  if (conv == nullptr) return 0;
  return mul(mul(terms_of(*conv), conv->f_out), element_bytes(ElementType::f32));
}

std::optional<PoolingMode> pooling_mode(const Network& network, const Geometry& geometry, int node) {
  const std::vector<int> poolings = pooling_nodes(network);
  const auto found = std::find(poolings.begin(), poolings.end(), node);
  if (found == poolings.end()) return std::nullopt;
  return geometry.choice.modes[static_cast<std::size_t>(found - poolings.begin())];
}

NodeReport describe_step(const Network& network, const Geometry& geometry, const Step& step) {
  if (step.node < 0)
    return {-1,         network.input_name,   &step, std::nullopt, geometry.values.front(), 0, 0, 0,
            Place::cpu, runs_of(geometry, -1)};
  const auto node = static_cast<std::size_t>(step.node);
  const LayerProblem& problem = geometry.problems[node];
  return {step.node,
          network.nodes[node].name,
          &step,
          pooling_mode(network, geometry, step.node),
          geometry.values[node + 1],
          direct_flops(problem),
          0,
          0,
          Place::cpu,
          runs_of(geometry, step.node)};
}

// Describes the reorder of what crosses the cut, if the segment has one.
void describe_reorder(const SegmentDesign& design, const Geometry& whole, NodeReport& report) {
  report.name = design.network.input_name;
  report.shape = whole.values[static_cast<std::size_t>(design.first_node)];
  report.runs = runs_of(whole, design.first_node);
}

std::vector<Vec3> spreads(const Network& network, const std::vector<NodeReport>& nodes) {
  std::vector<Vec3> all(network.nodes.size());
  for (const NodeReport& each : nodes) {
    if (each.node >= 0) all[static_cast<std::size_t>(each.node)] = each.spread;
  }
  return all;
}

// Requires that report.nodes is complete.
void set_geometry(const Network& network, Geometry geometry, PlanReport& report) {
  report.rounding = rounding_reach(network, geometry, spreads(network, report.nodes));
  report.input = {geometry.choice.S, network.f_in, geometry.patch_input};
  report.output = {geometry.choice.S, geometry.values.back().f, geometry.patch_output};
  report.geometry = std::move(geometry);
}

SpaceBytes kept_bytes(const MemoryPlan& memory) {
  return {persistent_bytes(memory, MemorySpace::host), persistent_bytes(memory, MemorySpace::pinned),
          persistent_bytes(memory, MemorySpace::device)};
}

}  // namespace

Result<PlanReport> make_report(const Network& network, const Plan& plan, const Catalogue& catalogue,
                               const DeviceSpec& spec) {
  if (plan.ladder.empty()) return Error{ErrorCode::invalid_argument, "the plan has no patch"};
  const Rung& rung = plan.ladder.front();
  Result<Geometry> geometry = make_geometry(network, rung.geometry);
  if (!geometry) return geometry.error();
  PlanReport report;
  for (const Segment& segment : rung.segments) {
    for (const Step& step : segment.steps) {  // of the plan, to which the report refers
      if (step.node >= static_cast<int>(network.nodes.size())) {
        return Error{ErrorCode::invalid_argument, "the plan has a step for node " + std::to_string(step.node) +
                                                      "; the network has " + std::to_string(network.nodes.size())};
      }
      report.nodes.push_back(describe_step(network, *geometry, step));
    }
  }
  const Result<DeviceSpec> device = device_of_rungs(plan, spec);
  if (!device) return device.error();
  const Result<Schedule> schedule = make_schedule(network, *geometry, steps_of(rung), catalogue, *device);
  if (!schedule) return schedule.error();
  for (NodeReport& node : report.nodes) node.persistent = swapped_kernel_bytes(*geometry, node.node);
  add_calls(*schedule, MemorySpace::host, report.nodes);
  report.history_bytes = history_bytes(*schedule);
  set_geometry(network, *std::move(geometry), report);
  return report;
}

Result<PlanReport> make_report(const Network& network, const SplitPlan& plan, const Catalogue& catalogue,
                               const PlaceSpecs& specs) {
  const Rung& rung = plan.plan.ladder.front();
  Result<RungSegments> parts = take_apart(network, rung, catalogue, specs);
  if (!parts) return parts.error();
  const MemoryUse& memory = plan.plan.memory;
  const SpaceBytes whole{memory.total() - plan.bytes.pinned, plan.bytes.pinned, plan.bytes.device};
  const SpaceBytes own_kept{add(memory.weights, memory.persistent), 0, 0};
  PlanReport report;
  report.places = PlacesReport{plan.theta, whole, own_kept, plan.seconds.cpu, plan.seconds.gpu};
  for (std::size_t i = 0; i < rung.segments.size(); ++i) {
    const SegmentDesign& design = parts->segments[i];
    const std::size_t first = report.nodes.size();
    for (const Step& step : rung.segments[i].steps) {
      report.nodes.push_back(describe_step(network, parts->geometry, step));
      if (step.node < 0) describe_reorder(design, parts->geometry, report.nodes.back());
      report.nodes.back().place = design.place;
      report.nodes.back().runs = mul(report.nodes.back().runs, design.micro_batches());
      report.nodes.back().flops /= static_cast<double>(design.micro_batches());
    }
    const MemorySpace own = design.place == Place::gpu ? MemorySpace::device : MemorySpace::host;
    add_calls(design.schedule, own, std::span(report.nodes).subspan(first));
    report.history_bytes = add(report.history_bytes, history_bytes(design.schedule));
    report.places->kept = report.places->kept.plus(kept_bytes(design.schedule.memory));
  }
  set_geometry(network, std::move(parts->geometry), report);
  return report;
}

}  // namespace znni
