#include "planner/search/search_log.hpp"

#include <algorithm>

#include "planner/plan/pairs.hpp"

namespace znni {
namespace {

bool is_chosen(const Step& step, const Primitive& primitive, const Estimate& estimate) {
  return step.primitive == primitive.name && step.variant == estimate.variant && step.in == estimate.in &&
         step.native == estimate.out;
}

}  // namespace

void log_choices(const Network& network, const FoundRung& found, const DeviceSpec& spec, const Catalogue& catalogue,
                 CostSource& costs, SearchLog& log) {
  const std::vector<Step> steps = steps_of(found.rung);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const int node = step.node;
    if (node < 0 || is_joined(step)) continue;
    const bool is_pair = begins_pair(steps, i);
    const LayerProblem problem = is_pair ? pair_problem(network, found.geometry, node).value()
                                         : found.geometry.problems[static_cast<std::size_t>(node)];
    const auto begin = static_cast<std::ptrdiff_t>(log.choices.size());
    for (const Primitive* primitive : catalogue.primitives()) {
      if (primitive->device != spec.kind) continue;
      const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
      if (!estimates && is_pair) continue;  // most compute one of the two alone
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
