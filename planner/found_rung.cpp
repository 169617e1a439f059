#include "planner/found_rung.hpp"

#include <utility>

#include "planner/schedule.hpp"

namespace znni {
namespace {

std::vector<Step> steps(const Geometry& geometry, const Assignment& assignment, const DeviceSpec& spec) {
  std::vector<Step> all;
  if (assignment.input_reorder != nullptr) {
    const LayerOption& reorder = *assignment.input_reorder;
    Step step;
    step.node = -1;
    step.in = step.native = reorder.in;
    step.out = reorder.out;
    step.reorder = reorder.primitive->name;
    step.seconds = reorder.cost.seconds;
    step.basis = reorder.cost.basis;
    step.error = reorder.cost.error;
    all.push_back(std::move(step));
  }
  for (std::size_t node = 0; node < assignment.nodes.size(); ++node) {
    const auto& [option, reorder] = assignment.nodes[node];
    const Result<std::vector<Estimate>> estimates = option->primitive->describe(geometry.problems[node], spec);
    ensure(estimates.has_value(), "a primitive described a problem once and then refused it");
    Step step;
    step.node = static_cast<int>(node);
    step.primitive = option->primitive->name;
    step.version = option->primitive->version;
    step.variant = (*estimates)[static_cast<std::size_t>(option->estimate)].variant;
    step.in = option->in;
    step.native = step.out = option->out;
    step.seconds = option->cost.seconds;
    step.basis = option->cost.basis;
    step.error = option->cost.error;
    if (reorder != nullptr) {
      step.out = reorder->out;
      step.reorder = reorder->primitive->name;
      const Cost both = together(option->cost, reorder->cost);
      step.seconds = both.seconds;
      step.basis = both.basis;
      step.error = both.error;
    }
    all.push_back(std::move(step));
  }
  return all;
}

}  // namespace

FoundRung found_rung(const Network& network, Geometry geometry, const Assignment& assignment,
                     const Catalogue& catalogue, const DeviceSpec& spec) {
  std::vector<Step> all = steps(geometry, assignment, spec);
  const Result<Schedule> made = make_schedule(network, geometry, all, catalogue, spec);
  ensure(made.has_value(), made ? "" : made.error().message);
  FoundRung found;
  Segment segment;
  segment.first = all.front().node;
  segment.last = all.back().node;
  segment.steps = std::move(all);
  found.rung.geometry = geometry.choice;
  found.rung.segments = {std::move(segment)};
  found.rung.memory = {weight_bytes(network), persistent_bytes(made->memory), pack(made->memory).bytes};
  found.geometry = std::move(geometry);
  return found;
}

}  // namespace znni
