#include "planner/divisions.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

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

Result<void> add_good_divisions(const ConvProblem& conv, const hybrid::DividedChoice& choice, const DeviceSpec& gpu,
                                Seconds below, const hybrid::DescribePart& describe, std::vector<DividedOption>& good) {
  Result<void> answer = Error{ErrorCode::unsupported, "every division of it is slower than another patch"};
  const bool plain = choice.staged && choice.in == Format{} && choice.out == Format{};  // as least_of() counts
  hybrid::DividedChoice one = choice;
  for (const Division& division : divisions_of(conv)) {
    one.division = division;
    const Result<hybrid::SubLayers> parts = hybrid::divide(conv, division);
    const LeastOfDivision least = parts && plain ? least_of(*parts, gpu.accelerator) : LeastOfDivision();
    if (least.seconds >= below || (plain && is_bettered(least.seconds, least.use, good))) continue;
    const Result<hybrid::InnerEstimates> inner =
        parts ? hybrid::inner_estimates(*parts, one, gpu, describe) : Result<hybrid::InnerEstimates>(parts.error());
    if (!inner) {
      if (!answer) answer = inner.error();
      continue;
    }
    const Seconds time = hybrid::divided_time(*parts, *inner, one, gpu);
    if (time >= below || (plain && is_bettered(time, least.use, good))) continue;
    answer = {};
    Estimate estimate = hybrid::divided_estimate(*parts, *inner, one, gpu);
    const SpaceBytes use = taken(estimate);
    keep_if_good({choice.inner, division, std::move(estimate), use}, good);
  }
  return answer;
}

Result<std::vector<DividedOption>> good_divisions(const ConvProblem& conv, const hybrid::DividedChoice& choice,
                                                  const DeviceSpec& gpu) {
  constexpr Seconds any = std::numeric_limits<Seconds>::infinity();
  std::vector<DividedOption> good;
  if (Result<void> added = add_good_divisions(conv, choice, gpu, any, {}, good); !added) return added.error();
  put_fastest_first(good);
  return good;
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
