#include "planner/layers/divisions.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/layers/fastest_ways.hpp"

namespace znni {
namespace {

// Returns `all`, about a half of it, a quarter, ..., 1.
std::vector<std::int64_t> sizes_of(std::int64_t all) {
  std::vector<std::int64_t> sublayers = {all};
  while (sublayers.back() > 1) sublayers.push_back(div_up(sublayers.back(), 2));
  return sublayers;
}

std::vector<std::int64_t> even_parts_of(std::int64_t all) {
  std::vector<std::int64_t> sublayers;
  for (std::int64_t sublayer = all; sublayer >= 1; --sublayer) {
    if (all % sublayer == 0) sublayers.push_back(sublayer);
  }
  return sublayers;
}

// Returns the divisions of a convolution, from large sub-layers to small ones.
std::vector<hybrid::SubLayers> divisions_of(const ConvProblem& conv) {
  std::vector<hybrid::SubLayers> divisions;
  const auto add = [&](const Division& division) {
    Result<hybrid::SubLayers> sublayers = hybrid::divide(conv, division);
    if (sublayers) divisions.push_back(*std::move(sublayers));
  };
  for (const std::int64_t f : even_parts_of(conv.in.f)) {
    for (const std::int64_t f_out : sizes_of(conv.f_out)) {
      for (const std::int64_t slab : sizes_of(output_shape(conv).n.z)) {
        for (const std::int64_t S : sizes_of(conv.in.S)) add({S, f, f_out, slab});
      }
    }
  }
  return divisions;
}

ConvProblem smallest_sublayer(ConvProblem conv) {
  conv.in = {1, 1, {conv.in.n.z - output_shape(conv).n.z + 1, conv.in.n.y, conv.in.n.x}};
  conv.f_out = 1;
  return conv;
}

// Returns the least time of `inner` for the sub-layers of one sum.
Seconds min_sum(const hybrid::SubLayers& sublayers, const Primitive& inner, const DeviceSpec& gpu) {
  if (inner.min_time == nullptr) return 0;
  const auto least = [&](std::int64_t step) { return inner.min_time(sublayers.problem(step), gpu); };
  if (sublayers.terms == 1) return least(0);
  const auto middle = static_cast<double>(sublayers.terms - 2);
  return least(0) + least(sublayers.terms - 1) + (middle > 0 ? middle * least(1) : 0);
}

// Returns the slots for copies, which are needed however sub-layers are computed.
SpaceBytes min_use(const hybrid::SubLayers& sublayers) {
  const std::int64_t slots = add(mul(hybrid::slots(sublayers.uploads()), hybrid::slot_bytes(sublayers.in, {})),
                                 mul(hybrid::slots(sublayers.sums()), hybrid::slot_bytes(sublayers.out, {})));
  return {0, slots, slots};
}

// Returns what a layer takes of the budget, of which its own tensors are not a part.
SpaceBytes taken(const Estimate& estimate) {
  SpaceBytes use = bytes_of(estimate.memory);
  use.host = 0;
  return use;
}

// Returns the choices without a division.
std::vector<hybrid::DividedChoice> choices_of(const Primitive& inner, const std::vector<Estimate>& estimates,
                                              const SubLayerRules& rules) {
  std::vector<hybrid::DividedChoice> choices;
  for (const Estimate& estimate : estimates) {
    const auto& [variant, in, out, time, memory, spread] = estimate;
    const std::optional<Precision> level = level_of(estimate);
    if (!level || *level > rules.precision || in != out) continue;
    const Primitive* const reorder = in == Format{} ? nullptr : rules.reorder;
    if (in == Format{} || reorder != nullptr) choices.push_back({&inner, variant, in, out, {}, true, reorder});
  }
  return choices;
}

Error slower() { return {ErrorCode::unsupported, "every division of it is slower than another patch"}; }

}  // namespace

SpaceBytes SpaceBytes::plus(const SpaceBytes& other) const {
  return {add(host, other.host), add(pinned, other.pinned), add(device, other.device)};
}

SpaceBytes bytes_of(const MemoryPlan& memory) {
  const auto all = [&](MemorySpace space) { return add(peak(memory, space), persistent_bytes(memory, space)); };
  return {all(MemorySpace::host), all(MemorySpace::pinned), all(MemorySpace::device)};
}

std::string to_string(const SpaceBytes& bytes) {
  return "host " + bytes_text(bytes.host) + ", pinned " + bytes_text(bytes.pinned) + ", device " +
         bytes_text(bytes.device);
}

DivisionSearch::DivisionSearch(const ConvProblem& conv, std::span<const Primitive* const> inner, const DeviceSpec& gpu,
                               const SubLayerRules& rules, Seconds below)
    : conv_(conv),
      gpu_(gpu),
      rules_(rules),
      below_(below),
      divisions_(divisions_of(conv)),
      reason_{ErrorCode::unsupported, "no primitive of the GPU computes " + to_string(LayerProblem(conv))} {
  for (const Primitive* primitive : inner) add_source(*primitive);
}

// Adds a primitive. Without a least time it is asked at once whether it takes any sub-layer; one that takes long to
// describe is asked when its turn comes.
void DivisionSearch::add_source(const Primitive& primitive) {
  Source source{&primitive};
  if (primitive.min_time == nullptr && !takes_sublayers(source)) return;
  bool computes_sublayers = false;
  for (std::size_t i = 0; i < divisions_.size(); ++i) {
    const hybrid::SubLayers& sublayers = divisions_[i];
    const Seconds least = hybrid::min_divided_time(sublayers, min_sum(sublayers, primitive, gpu_), gpu_);
    if (!std::isfinite(least)) continue;  // it does not compute these sub-layers
    computes_sublayers = true;
    if (least >= below_) {
      reason_ = slower();
    } else {
      candidates_.emplace(Place{least, sources_.size(), i}, Candidate{min_use(sublayers), false, {}});
    }
  }
  if (!computes_sublayers) keep_reason(source, conv_);
  sources_.push_back(std::move(source));
}

// Keeps what a source says that does not compute a sub-layer.
void DivisionSearch::keep_reason(Source& source, const ConvProblem& sublayer) {
  const Result<std::vector<Estimate>>& described = describe_sublayer(source, sublayer);
  if (described) return;
  reason_ = described.error().within(std::string(source.primitive->name) + " of " + to_string(LayerProblem(sublayer)));
}

const Result<std::vector<Estimate>>& DivisionSearch::describe_sublayer(Source& source, const ConvProblem& sublayer) {
  const auto found = source.known.find(sublayer);
  if (found != source.known.end()) return found->second;
  return source.known.emplace(sublayer, source.primitive->describe(sublayer, gpu_)).first->second;
}

// Returns whether the source computes the whole or the smallest sub-layer; if neither, it is not asked for the
// sub-layers between.
bool DivisionSearch::takes_sublayers(Source& source) {
  source.takes_sublayers =
      source.takes_sublayers || describe_sublayer(source, conv_) || describe_sublayer(source, smallest_sublayer(conv_));
  return source.takes_sublayers;
}

DivisionSearch::Candidates::iterator DivisionSearch::describe(Candidates::iterator at) {
  const Place division = at->first;
  Source& source = sources_[division.source];
  if (!takes_sublayers(source)) {
    std::erase_if(candidates_, [&](const auto& each) { return each.first.source == division.source; });
    return candidates_.upper_bound(division);
  }
  candidates_.erase(at);
  const hybrid::SubLayers& sublayers = divisions_[division.division];
  const ConvProblem sublayer = sublayers.problem(0);
  const Result<std::vector<Estimate>>& first = describe_sublayer(source, sublayer);
  if (!first) {
    keep_reason(source, sublayer);
    return candidates_.upper_bound(division);
  }
  Place place = division;
  for (hybrid::DividedChoice& choice : choices_of(*source.primitive, *first, rules_)) {
    choice.division = sublayers.sublayer;
    ++place.way;
    if (Result<void> added = add_way(place, choice); !added) reason_ = added.error();
  }
  return candidates_.upper_bound(division);
}

// Adds a way to compute a division, which takes at least `place.seconds`.
Result<void> DivisionSearch::add_way(const Place& place, const hybrid::DividedChoice& choice) {
  const hybrid::SubLayers& sublayers = divisions_[place.division];
  const Result<hybrid::InnerEstimates> inner = inner_estimates(place, choice);
  if (!inner) return inner.error();
  const Seconds time = hybrid::divided_time(sublayers, *inner, choice, gpu_);
  if (time >= below_) return slower();
  Place own = place;
  own.seconds = std::max(time, place.seconds);  // whatever was said to be the least: no candidate is left behind
  candidates_.emplace(own, Candidate{min_use(sublayers), false, choice});
  return {};
}

Result<hybrid::InnerEstimates> DivisionSearch::inner_estimates(const Place& place,
                                                               const hybrid::DividedChoice& choice) {
  const auto answer = [&](const ConvProblem& sublayer) -> const Result<std::vector<Estimate>>& {
    return describe_sublayer(sources_[place.source], sublayer);
  };
  return hybrid::inner_estimates(divisions_[place.division], choice, gpu_, answer);
}

DividedOption DivisionSearch::option(const Place& place, const hybrid::DividedChoice& choice) {
  const hybrid::InnerEstimates inner = inner_estimates(place, choice).value();
  Estimate estimate = hybrid::divided_estimate(divisions_[place.division], inner, choice, gpu_);
  const SpaceBytes use = taken(estimate);
  return {choice, std::move(estimate), use};
}

void DivisionSearch::weigh(const Place& place, Candidate& candidate) {
  candidate.use = option(place, candidate.choice).use;
  candidate.weighed = true;
}

bool DivisionSearch::stopped() {
  stopped_ = stopped_ || (rules_.stop && rules_.stop());
  return stopped_;
}

Seconds DivisionSearch::min_seconds() {
  for (auto at = candidates_.begin(); at != candidates_.end();) {
    const bool known = at->first.way >= 0 || sources_[at->first.source].primitive->min_time != nullptr;
    if (known || stopped()) return at->first.seconds;
    at = describe(at);
  }
  return std::numeric_limits<Seconds>::infinity();
}

Result<DividedOption> DivisionSearch::fastest(const SpaceBytes& memory, Seconds below) {
  const SpaceBytes sublayers{0, memory.pinned, memory.device};
  std::vector<Candidates::const_iterator> best;  // equally fast
  for (auto at = candidates_.begin(); at != candidates_.end() && at->first.seconds < below;) {
    if (!best.empty() && at->first.seconds > best.front()->first.seconds) break;
    if (!sublayers.covers(at->second.use)) {
      ++at;
    } else if (at->first.way < 0) {
      at = stopped() ? std::next(at) : describe(at);
    } else if (!at->second.weighed) {
      weigh(at->first, at->second);
    } else {
      best.push_back(at++);
    }
  }
  if (best.empty()) return none(memory, below);
  const auto needs_more = [&](Candidates::const_iterator one) {
    return std::any_of(best.begin(), best.end(), [&](Candidates::const_iterator other) {
      return other->second.use != one->second.use && one->second.use.covers(other->second.use);
    });
  };
  const auto chosen = *std::find_if_not(best.begin(), best.end(), needs_more);
  return option(chosen->first, chosen->second.choice);
}

Error DivisionSearch::none(const SpaceBytes& memory, Seconds below) const {
  if (stopped_) return {ErrorCode::cancelled, "the search was stopped before it found a division"};
  if (candidates_.empty()) return reason_;
  const auto end = candidates_.lower_bound(Place{below});
  if (end == candidates_.begin()) return slower();
  const auto least = std::min_element(
      candidates_.begin(), end, [](const auto& a, const auto& b) { return a.second.use.device < b.second.use.device; });
  return {ErrorCode::over_budget, to_string(LayerProblem(conv_)) + " in sub-layers needs at least " +
                                      to_string(least->second.use) + "; there is " + to_string(memory)};
}

}  // namespace znni
