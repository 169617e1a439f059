#include "planner/search_log.hpp"

#include <algorithm>

namespace znni {
namespace {

const Step& step_of(const Rung& rung, int node) {
  for (const Segment& segment : rung.segments) {
    for (const Step& step : segment.steps) {
      if (step.node == node) return step;
    }
  }
  ensure(false, "a rung has no step for a node");
  return rung.segments.front().steps.front();
}

bool is_chosen(const Step& step, const Primitive& primitive, const Estimate& estimate) {
  return step.primitive == primitive.name && step.variant == estimate.variant && step.in == estimate.in &&
         step.native == estimate.out;
}

}  // namespace

void log_choices(const Network& network, const FoundRung& found, const DeviceSpec& spec, const Catalogue& catalogue,
                 CostSource& costs, SearchLog& log) {
  for (int node = 0; node < static_cast<int>(network.nodes.size()); ++node) {
    const LayerProblem& problem = found.geometry.problems[static_cast<std::size_t>(node)];
    const Step& step = step_of(found.rung, node);
    const auto begin = static_cast<std::ptrdiff_t>(log.choices.size());
    for (const Primitive* primitive : catalogue.primitives()) {
      if (primitive->device != spec.kind) continue;
      const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
      if (!estimates) {
        log.refusals.push_back({node, std::string(primitive->name), estimates.error().message});
        continue;
      }
      for (const Estimate& estimate : *estimates) {
        log.choices.push_back({node, std::string(primitive->name), estimate.variant, estimate.in, estimate.out,
                               costs.cost(problem, *primitive, estimate), peak(estimate.memory),
                               is_chosen(step, *primitive, estimate)});
      }
    }
    std::stable_sort(
        log.choices.begin() + begin, log.choices.end(), [](const SearchLog::Choice& a, const SearchLog::Choice& b) {
          return a.cost.seconds != b.cost.seconds ? a.cost.seconds < b.cost.seconds : a.primitive < b.primitive;
        });
  }
}

}  // namespace znni
