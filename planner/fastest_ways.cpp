#include "planner/fastest_ways.hpp"

#include <optional>

namespace znni {

bool is_strict(const Estimate& estimate) {
  return estimate.in == Format{} && estimate.out == Format{} && setting(estimate.variant, "tf32", 0) == 0;
}

Step make_step(int node, const Primitive& primitive, const Estimate& estimate) {
  Step step;
  step.node = node;
  step.primitive = primitive.name;
  step.version = primitive.version;
  step.variant = estimate.variant;
  step.seconds = estimate.time;
  return step;
}

const Result<Step>& FastestWays::get(const LayerProblem& problem) {
  const auto found = known_.find(problem);
  return found != known_.end() ? found->second : known_.emplace(problem, find(problem)).first->second;
}

Result<Step> FastestWays::find(const LayerProblem& problem) const {
  std::optional<Step> best;
  for (const Primitive* primitive : catalogue_.primitives()) {
    if (primitive->device != kind_) continue;
    const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec_);
    if (!estimates) continue;
    for (const Estimate& estimate : *estimates) {
      if (!is_strict(estimate)) continue;
      const Cost cost = costs_.cost(problem, *primitive, estimate);
      const bool by_formula = kind_ == DeviceKind::gpu && cost.basis == Basis::model;
      const Seconds seconds = by_formula ? estimate.time : cost.seconds;
      if (best && best->seconds <= seconds) continue;
      best = make_step(0, *primitive, estimate);
      best->seconds = seconds;
      best->basis = cost.basis;
      best->error = seconds == cost.seconds ? cost.error : 0;
    }
  }
  if (best) return *std::move(best);
  return Error{ErrorCode::unsupported, "no primitive computes " + to_string(problem) + " from planar to planar"};
}

}  // namespace znni
