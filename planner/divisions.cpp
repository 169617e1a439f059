#include "planner/divisions.hpp"

#include <algorithm>
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

std::vector<Division> divisions_of(const ConvProblem& conv) {
  std::vector<Division> divisions;
  for (const std::int64_t S : parts_of(conv.in.S)) {
    for (const std::int64_t slab : parts_of(output_shape(conv).n.z)) {
      for (const std::int64_t f_out : parts_of(conv.f_out)) {
        for (const std::int64_t f : even_parts_of(conv.in.f)) divisions.push_back({S, f, f_out, slab});
      }
    }
  }
  return divisions;
}

// The layer's own tensors are not its part of the budget.
SpaceBytes taken(const DividedOption& option) {
  SpaceBytes use = bytes_of(option.estimate.memory);
  use.host = 0;
  return use;
}

// Options with what they take, counted once.
struct Weighed {
  DividedOption option;
  SpaceBytes use;
};

void keep_if_good(Weighed one, std::vector<Weighed>& good) {
  const auto betters = [](const Weighed& a, const Weighed& b) {
    return a.option.estimate.time <= b.option.estimate.time && b.use.covers(a.use);
  };
  if (std::any_of(good.begin(), good.end(), [&](const Weighed& other) { return betters(other, one); })) return;
  std::erase_if(good, [&](const Weighed& other) { return betters(one, other); });
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

Result<std::vector<DividedOption>> good_divisions(const ConvProblem& conv, const hybrid::DividedChoice& choice,
                                                  const DeviceSpec& gpu) {
  std::vector<Weighed> good;
  Error refusal{ErrorCode::unsupported, "there is no division"};
  for (const Division& division : divisions_of(conv)) {
    hybrid::DividedChoice one = choice;
    one.division = division;
    Result<Estimate> estimate = hybrid::describe_divided(conv, one, gpu);
    if (!estimate) {
      refusal = estimate.error();
      continue;
    }
    Weighed weighed{{division, *std::move(estimate)}, {}};
    weighed.use = taken(weighed.option);
    keep_if_good(std::move(weighed), good);
  }
  if (good.empty()) return refusal;
  std::vector<DividedOption> options;
  for (Weighed& one : good) options.push_back(std::move(one.option));
  std::stable_sort(options.begin(), options.end(),
                   [](const DividedOption& a, const DividedOption& b) { return a.estimate.time < b.estimate.time; });
  return options;
}

Result<DividedOption> best_division(const ConvProblem& conv, const std::vector<DividedOption>& good,
                                    const SpaceBytes& budget) {
  ensure(!good.empty(), "there is a division");
  SpaceBytes least = taken(good.front());
  for (const DividedOption& option : good) {
    const SpaceBytes use = taken(option);
    if (SpaceBytes{0, budget.pinned, budget.device}.covers(use)) return option;
    if (use.device < least.device) least = use;
  }
  return Error{ErrorCode::over_budget, to_string(LayerProblem(conv)) + " in sub-layers needs at least " +
                                           to_string(least) + "; there is " + to_string(budget)};
}

}  // namespace znni
