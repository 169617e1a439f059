// Throughput of a net with other memory or other patches: the figures 4, 5 and 7 of ZNNi for one net and machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.hpp"

namespace znni {

struct CurveSample {
  std::int64_t limit = 0;        // bytes that were allowed
  Vec3 patch_input;              // of the best plan
  double voxels_per_second = 0;  // 0: nothing fits
  std::int64_t bytes = 0;        // the whole plan takes
};

// Holds the samples of one strategy.
struct StrategyCurves {
  std::string strategy;
  std::vector<CurveSample> memory;
  std::vector<CurveSample> size;
};

// The best plan within so many bytes.
using PlanWithin = std::function<CurveSample(std::int64_t limit)>;

// The arguments of a search.
struct CurveSetting {
  const Network& network;
  const DeviceSpec& spec;
  const Catalogue& catalogue;
  CostSource& costs;
  SearchOptions options;  // memory_limit: the plan's
};

// Searches whole plans, smaller rungs included, within a limit instead of options.memory_limit. What all limits share
// is worked out once: asked for many, it is kept for all of them. The setting must outlive it. One thread at a time.
[[nodiscard]] PlanWithin search_within(const CurveSetting& setting);

// Returns the best plan for each limit; samples end when `stop` says so.
[[nodiscard]] std::vector<CurveSample> by_memory(const PlanWithin& within, const std::vector<std::int64_t>& limits,
                                                 const std::function<bool()>& stop);

// Returns both limits and those between them, by factors of about the square root of two, and `also` where it lies
// between them; rising. Requires 1 <= from <= to.
[[nodiscard]] std::vector<std::int64_t> limits_between(std::int64_t from, std::int64_t to,
                                                       const std::optional<std::int64_t>& also = std::nullopt);

// Returns the best way for each of up to `count` cubic patches within the limit, from small to large; and one more that
// does not fit.
[[nodiscard]] std::vector<CurveSample> by_size(const CurveSetting& setting, std::size_t count = 16);

// A plan that is so many times as fast is worth more memory.
inline constexpr double worth_telling = 1.05;

// Tells what more memory than `limit`, a plan's own, would be worth: "with 14.00 GiB more host RAM, 1.30 x". It names
// the smallest limit tried, up to four times `limit`, that makes the plan at least 5 % faster, or says that none does.
// `within` may leave out the bytes of plans that are slower than that. `memory`: the memory's name. Returns "" when
// stopped.
[[nodiscard]] std::string next_better(const PlanWithin& within, std::int64_t limit, double voxels_per_second,
                                      const std::string& memory, const std::function<bool()>& stop);

}  // namespace znni
