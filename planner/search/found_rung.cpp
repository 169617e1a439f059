#include "planner/search/found_rung.hpp"

#include <utility>

#include "planner/layers/schedule.hpp"
#include "planner/plan/pairs.hpp"

namespace znni {
namespace {

Step step_of(int node, const LayerProblem& problem, const LayerOption& option, const DeviceSpec& spec) {
  const Result<std::vector<Estimate>> estimates = option.primitive->describe(problem, spec);
  ensure(estimates.has_value(), "a primitive described a problem once and then refused it");
  Step step;
  step.node = node;
  step.primitive = option.primitive->name;
  step.version = option.primitive->version;
  step.variant = (*estimates)[static_cast<std::size_t>(option.estimate)].variant;
  step.in = option.in;
  step.native = step.out = option.out;
  step.seconds = option.cost.seconds;
  step.basis = option.cost.basis;
  step.error = option.cost.error;
  return step;
}

void add_reorder(const LayerOption& reorder, Step& step) {
  const Cost both = together({step.seconds, step.basis, step.error}, reorder.cost);
  step.out = reorder.out;
  step.reorder = reorder.primitive->name;
  step.seconds = both.seconds;
  step.basis = both.basis;
  step.error = both.error;
}

std::vector<Step> steps(const Network& network, const Geometry& geometry, const Assignment& assignment,
                        const DeviceSpec& spec) {
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
    const int number = static_cast<int>(node);
    if (assignment.nodes[node].option->joined) {
      const LayerProblem both = pair_problem(network, geometry, number).value();
      const auto& [option, reorder] = assignment.nodes[++node];
      auto [first, second] = pair_steps(step_of(number, both, *option, spec));
      if (reorder != nullptr) add_reorder(*reorder, second);
      all.push_back(std::move(first));
      all.push_back(std::move(second));
      continue;
    }
    const auto& [option, reorder] = assignment.nodes[node];
    all.push_back(step_of(number, geometry.problems[node], *option, spec));
    if (reorder != nullptr) add_reorder(*reorder, all.back());
  }
  return all;
}

}  // namespace

void LeadingRung::offer(FoundRung rung, std::size_t number) {
  const double faster = rung.voxels_per_second - voxels_per_second();
  if (faster < 0 || (faster == 0 && (!candidate || *candidate < number))) return;
  best = std::move(rung);
  candidate = number;
}

FoundRung found_rung(const Network& network, Geometry geometry, const Assignment& assignment,
                     const Catalogue& catalogue, const DeviceSpec& spec) {
  std::vector<Step> all = steps(network, geometry, assignment, spec);
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
