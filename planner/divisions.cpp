#include "planner/divisions.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/fastest_ways.hpp"

namespace znni {
namespace {

// all, about a half, a quarter, ..., 1.
std::vector<std::int64_t> parts_of(std::int64_t all) {
  std::vector<std::int64_t> parts = {all};
  while (parts.back() > 1) parts.push_back(div_up(parts.back(), 2));
  return parts;
}

std::vector<std::int64_t> even_parts_of(std::int64_t all) {
  std::vector<std::int64_t> parts;
  for (std::int64_t part = all; part >= 1; --part) {
    if (all % part == 0) parts.push_back(part);
  }
  return parts;
}

// Those that repeat the fewest copies first, so that they tell which others are not worth describing.
std::vector<Division> divisions_of(const ConvProblem& conv) {
  std::vector<Division> divisions;
  for (const std::int64_t f : even_parts_of(conv.in.f)) {
    for (const std::int64_t f_out : parts_of(conv.f_out)) {
      for (const std::int64_t slab : parts_of(output_shape(conv).n.z)) {
        for (const std::int64_t S : parts_of(conv.in.S)) divisions.push_back({S, f, f_out, slab});
      }
    }
  }
  return divisions;
}

// What a division takes and needs however its parts are computed: copies, and the slots for them.
struct LeastOfDivision {
  Seconds seconds = 0;
  SpaceBytes use;
};

LeastOfDivision least_of(const hybrid::SubLayers& parts, const AcceleratorSpec& link) {
  const auto in = static_cast<double>(tensor_bytes(parts.in, {}));
  const auto out = static_cast<double>(tensor_bytes(parts.out, {}));
  const auto uploads = static_cast<double>(parts.uploads());
  const auto sums = static_cast<double>(parts.sums());
  LeastOfDivision least;
  least.seconds = std::max({uploads * link.up.seconds(in), sums * link.down.seconds(out),
                            (uploads * in + sums * out) / link.duplex_bytes_per_second,
                            (uploads * in + sums * out) / link.staging_bytes_per_second});
  least.use.pinned = add(mul(hybrid::slots(parts.uploads()), hybrid::slot_bytes(parts.in, {})),
                         mul(hybrid::slots(parts.sums()), hybrid::slot_bytes(parts.out, {})));
  least.use.device = least.use.pinned;
  return least;
}

// The layer's own tensors are not its part of the budget.
SpaceBytes taken(const Estimate& estimate) {
  SpaceBytes use = bytes_of(estimate.memory);
  use.host = 0;
  return use;
}

bool betters(const DividedOption& other, Seconds time, const SpaceBytes& use) {
  return other.estimate.time <= time && use.covers(other.use);
}

bool is_bettered(Seconds time, const SpaceBytes& use, const std::vector<DividedOption>& good) {
  return std::any_of(good.begin(), good.end(), [&](const DividedOption& other) { return betters(other, time, use); });
}

void keep_if_good(DividedOption one, std::vector<DividedOption>& good) {
  if (is_bettered(one.estimate.time, one.use, good)) return;
  std::erase_if(good, [&](const DividedOption& other) { return betters(one, other.estimate.time, other.use); });
  good.push_back(std::move(one));
}

// Choices without a division.
std::vector<hybrid::DividedChoice> choices_of(const Primitive& inner, const std::vector<Estimate>& estimates,
                                              const PartRules& rules) {
  std::vector<hybrid::DividedChoice> choices;
  for (const Estimate& estimate : estimates) {
    const auto& [variant, in, out, time, memory] = estimate;
    const std::optional<Precision> level = level_of(estimate);
    if (!level || *level > rules.precision || in != out) continue;
    const Primitive* const reorder = in == Format{} ? nullptr : rules.reorder;
    if (in == Format{} || reorder != nullptr) choices.push_back({&inner, variant, in, out, {}, true, reorder});
  }
  return choices;
}

// The divisions of one convolution by one primitive. Parts are described once: many divisions have some in common.
class GoodDivisions {
 public:
  GoodDivisions(const ConvProblem& conv, const Primitive& inner, const DeviceSpec& gpu, const PartRules& rules,
                Seconds below, std::vector<DividedOption>& good)
      : conv_(conv), inner_(inner), gpu_(gpu), rules_(rules), below_(below), good_(good) {}

  Result<void> add() {
    for (const Division& division : divisions_of(conv_)) {
      if (Result<void> looked = look(division); !looked) refusal_ = looked;
    }
    return added_ ? Result<void>() : refusal_;
  }

 private:
  const Result<std::vector<Estimate>>& describe(const ConvProblem& part) {
    const auto found = known_.find(part);
    return found != known_.end() ? found->second : known_.emplace(part, inner_.describe(part, gpu_)).first->second;
  }

  Result<void> look(const Division& division) {
    const Result<hybrid::SubLayers> parts = hybrid::divide(conv_, division);
    if (!parts) return parts.error();
    const LeastOfDivision least = least_of(*parts, gpu_.accelerator);
    if (least.seconds >= below_ || is_bettered(least.seconds, least.use, good_)) return {};
    const ConvProblem part = parts->problem(0);
    const Result<std::vector<Estimate>>& first = describe(part);
    if (!first) return first.error().within(std::string(inner_.name) + " of " + to_string(LayerProblem(part)));
    for (hybrid::DividedChoice& choice : choices_of(inner_, *first, rules_)) {
      choice.division = division;
      if (Result<void> added = add_if_good(*parts, choice, least); !added) refusal_ = added;
    }
    return {};
  }

  Result<void> add_if_good(const hybrid::SubLayers& parts, const hybrid::DividedChoice& choice,
                           const LeastOfDivision& least) {
    const auto answer = [this](const ConvProblem& part) -> const Result<std::vector<Estimate>>& {
      return describe(part);
    };
    const Result<hybrid::InnerEstimates> inner = hybrid::inner_estimates(parts, choice, gpu_, answer);
    if (!inner) return inner.error();
    const Seconds time = hybrid::divided_time(parts, *inner, choice, gpu_);
    if (time >= below_ || is_bettered(time, least.use, good_)) return {};
    added_ = true;
    Estimate estimate = hybrid::divided_estimate(parts, *inner, choice, gpu_);
    const SpaceBytes use = taken(estimate);
    keep_if_good({choice, std::move(estimate), use}, good_);
    return {};
  }

  const ConvProblem& conv_;
  const Primitive& inner_;
  const DeviceSpec& gpu_;
  const PartRules& rules_;
  Seconds below_;
  std::vector<DividedOption>& good_;
  std::map<ConvProblem, Result<std::vector<Estimate>>> known_;  // of parts
  bool added_ = false;
  Result<void> refusal_ = Error{ErrorCode::unsupported, "every division of it is slower than another patch"};
};

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

bool takes_parts(const ConvProblem& conv, const Primitive& inner, const DeviceSpec& gpu) {
  if (inner.describe(conv, gpu)) return true;
  ConvProblem smallest = conv;
  smallest.in = {1, 1, {conv.in.n.z - output_shape(conv).n.z + 1, conv.in.n.y, conv.in.n.x}};
  smallest.f_out = 1;
  return inner.describe(smallest, gpu).has_value();
}

Result<void> add_good_divisions(const ConvProblem& conv, const Primitive& inner, const DeviceSpec& gpu, Seconds below,
                                std::vector<DividedOption>& good, const PartRules& rules) {
  return GoodDivisions(conv, inner, gpu, rules, below, good).add();
}

void put_fastest_first(std::vector<DividedOption>& good) {
  std::stable_sort(good.begin(), good.end(),
                   [](const DividedOption& a, const DividedOption& b) { return a.estimate.time < b.estimate.time; });
}

Result<DividedOption> best_division(const ConvProblem& conv, const std::vector<DividedOption>& good,
                                    const SpaceBytes& budget) {
  ensure(!good.empty(), "there is a division");
  SpaceBytes least = good.front().use;
  for (const DividedOption& option : good) {
    if (SpaceBytes{0, budget.pinned, budget.device}.covers(option.use)) return option;
    if (option.use.device < least.device) least = option.use;
  }
  return Error{ErrorCode::over_budget, to_string(LayerProblem(conv)) + " in sub-layers needs at least " +
                                           to_string(least) + "; there is " + to_string(budget)};
}

}  // namespace znni
