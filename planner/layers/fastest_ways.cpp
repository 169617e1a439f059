#include "planner/layers/fastest_ways.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace znni {
namespace {

void keep_if_fastest(const LayerWay& way, std::vector<LayerWay>& ways) {
  const auto like = std::find_if(ways.begin(), ways.end(), [&](const LayerWay& other) {
    return other.in == way.in && other.native == way.native;
  });
  if (like == ways.end()) {
    ways.push_back(way);
  } else if (way.seconds < like->seconds) {
    *like = way;
  }
}

Seconds min_of(const std::vector<LayerWay>& ways) {
  Seconds least = std::numeric_limits<Seconds>::infinity();
  for (const LayerWay& way : ways) least = std::min(least, way.seconds);
  return least;
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

FastestWays::FastestWays(DeviceKind kind, const DeviceSpec& spec, const Catalogue& catalogue, CostSource& costs,
                         Precision coarsest)
    : kind_(kind), spec_(spec), costs_(costs), coarsest_(coarsest) {
  for (const Primitive* primitive : catalogue.primitives()) {
    if (primitive->device != kind) continue;
    const bool by_formula = kind == DeviceKind::gpu && !costs.has_times_of(*primitive);
    sources_.push_back({primitive, by_formula && primitive->min_time != nullptr});
  }
}

const Result<LayerWay>& FastestWays::get(const LayerProblem& problem) { return ways_of(problem).planar; }

const std::vector<LayerWay>& FastestWays::in_formats(const LayerProblem& problem, Precision precision) {
  ensure(precision <= coarsest_, "ways are kept up to the coarsest precision asked for");
  return ways_of(problem).within[static_cast<std::size_t>(precision)];
}

Seconds FastestWays::min_seconds(const LayerProblem& problem) {
  const auto coarsest = static_cast<std::size_t>(coarsest_);
  if (const auto known = known_.find(problem); known != known_.end()) return min_of(known->second.within[coarsest]);
  Seconds least = std::numeric_limits<Seconds>::infinity();
  for (const Within& within : quick_ways_of(problem)) least = std::min(least, min_of(within[coarsest]));
  for (const auto& [primitive, slow] : sources_) {
    if (slow) least = std::min(least, primitive->min_time(problem, spec_));
  }
  return least;
}

const FastestWays::Ways& FastestWays::ways_of(const LayerProblem& problem) {
  const auto found = known_.find(problem);
  if (found != known_.end()) return found->second;
  Ways ways = find(problem);
  quick_.erase(problem);
  return known_.emplace(problem, std::move(ways)).first->second;
}

const std::vector<FastestWays::Within>& FastestWays::quick_ways_of(const LayerProblem& problem) {
  const auto [known, is_new] = quick_.try_emplace(problem, sources_.size());
  for (std::size_t i = 0; is_new && i < sources_.size(); ++i) {
    if (!sources_[i].slow) known->second[i] = described(problem, *sources_[i].primitive);
  }
  return known->second;
}

FastestWays::Ways FastestWays::find(const LayerProblem& problem) {
  std::vector<Within> all = quick_ways_of(problem);
  Seconds fastest = std::numeric_limits<Seconds>::infinity();
  for (const Within& within : all) fastest = std::min(fastest, min_of(within.front()));
  Ways ways{{}, Error{ErrorCode::unsupported, ""}};
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto& [primitive, slow] = sources_[i];
    // In float32 all formats are planar, so a slower primitive offers nothing.
    const bool too_slow = slow && coarsest_ == Precision::fp32 && primitive->min_time(problem, spec_) > fastest;
    if (slow && !too_slow) all[i] = described(problem, *primitive);
    for (std::size_t at = 0; at < precisions; ++at) {
      for (const LayerWay& way : all[i][at]) keep_if_fastest(way, ways.within[at]);
    }
  }
  if (!ways.within.front().empty()) {
    ways.planar = ways.within.front().front();
  } else {
    ways.planar =
        Error{ErrorCode::unsupported, "no primitive computes " + to_string(problem) + " from planar to planar"};
  }
  return ways;
}

// Returns whether all that the primitive outlines is in formats, or in a precision, that do not count.
bool FastestWays::offers_nothing(const LayerProblem& problem, const Primitive& primitive) const {
  if (primitive.outline == nullptr) return false;
  const std::vector<Estimate> all = primitive.outline(problem, spec_);
  return std::none_of(all.begin(), all.end(), [&](const Estimate& estimate) {
    const std::optional<Precision> level = level_of(estimate);
    return level && *level <= coarsest_;
  });
}

FastestWays::Within FastestWays::described(const LayerProblem& problem, const Primitive& primitive) const {
  Within within;
  if (offers_nothing(problem, primitive)) return within;
  const Result<std::vector<Estimate>> estimates = primitive.describe(problem, spec_);
  if (!estimates) return within;
  for (const Estimate& estimate : *estimates) {
    const std::optional<Precision> level = level_of(estimate);
    if (!level || *level > coarsest_) continue;
    const LayerWay way = costed(problem, primitive, estimate);
    for (auto at = static_cast<std::size_t>(*level); at <= static_cast<std::size_t>(coarsest_); ++at) {
      keep_if_fastest(way, within[at]);
    }
  }
  return within;
}

LayerWay FastestWays::costed(const LayerProblem& problem, const Primitive& primitive, const Estimate& estimate) const {
  const Cost cost = costs_.cost(problem, primitive, estimate);
  const bool by_formula = kind_ == DeviceKind::gpu && cost.basis == Basis::model;
  const MemorySpace space = kind_ == DeviceKind::gpu ? MemorySpace::device : MemorySpace::host;
  LayerWay way{make_step(0, primitive, estimate), peak(estimate.memory, space),
               persistent_bytes(estimate.memory, space)};
  way.seconds = by_formula ? estimate.time : cost.seconds;
  way.basis = cost.basis;
  way.error = way.seconds == cost.seconds ? cost.error : 0;
  return way;
}

}  // namespace znni
