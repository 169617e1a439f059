#include "planner/fastest_ways.hpp"

#include <algorithm>

namespace znni {
namespace {

void keep_if_fastest(const Step& step, std::vector<Step>& ways) {
  const auto like = std::find_if(ways.begin(), ways.end(),
                                 [&](const Step& other) { return other.in == step.in && other.native == step.native; });
  if (like == ways.end()) {
    ways.push_back(step);
  } else if (step.seconds < like->seconds) {
    *like = step;
  }
}

}  // namespace

std::optional<Precision> level_of(const Estimate& estimate) {
  const std::optional<Precision> in = precision_of(estimate.in);
  const std::optional<Precision> out = precision_of(estimate.out);
  if (!in || !out) return std::nullopt;
  return std::max({*in, *out, precision_of(estimate.variant, estimate.in, estimate.out)});
}

Step make_step(int node, const Primitive& primitive, const Estimate& estimate) {
  Step step;
  step.node = node;
  step.primitive = primitive.name;
  step.version = primitive.version;
  step.variant = estimate.variant;
  step.in = estimate.in;
  step.native = step.out = estimate.out;
  step.seconds = estimate.time;
  return step;
}

const Result<Step>& FastestWays::get(const LayerProblem& problem) { return ways_of(problem).planar; }

const std::vector<Step>& FastestWays::in_formats(const LayerProblem& problem, Precision precision) {
  ensure(precision <= coarsest_, "ways are kept up to the coarsest precision asked for");
  return ways_of(problem).within[static_cast<std::size_t>(precision)];
}

const FastestWays::Ways& FastestWays::ways_of(const LayerProblem& problem) {
  const auto found = known_.find(problem);
  return found != known_.end() ? found->second : known_.emplace(problem, find(problem)).first->second;
}

FastestWays::Ways FastestWays::find(const LayerProblem& problem) const {
  Ways ways{{},
            Error{ErrorCode::unsupported, "no primitive computes " + to_string(problem) + " from planar to planar"}};
  for (const Primitive* primitive : catalogue_.primitives()) {
    if (primitive->device != kind_) continue;
    const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec_);
    if (!estimates) continue;
    for (const Estimate& estimate : *estimates) {
      const std::optional<Precision> level = level_of(estimate);
      if (!level || *level > coarsest_) continue;
      const Step step = costed(problem, *primitive, estimate);
      for (auto at = static_cast<std::size_t>(*level); at <= static_cast<std::size_t>(coarsest_); ++at) {
        keep_if_fastest(step, ways.within[at]);
      }
    }
  }
  if (!ways.within.front().empty()) ways.planar = ways.within.front().front();
  return ways;
}

Step FastestWays::costed(const LayerProblem& problem, const Primitive& primitive, const Estimate& estimate) const {
  const Cost cost = costs_.cost(problem, primitive, estimate);
  const bool by_formula = kind_ == DeviceKind::gpu && cost.basis == Basis::model;
  Step step = make_step(0, primitive, estimate);
  step.seconds = by_formula ? estimate.time : cost.seconds;
  step.basis = cost.basis;
  step.error = step.seconds == cost.seconds ? cost.error : 0;
  return step;
}

}  // namespace znni
