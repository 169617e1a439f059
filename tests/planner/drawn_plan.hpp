// Plans a small network with primitives of drawn times: the whole search, as a function.
#pragma once

#include "planner/search/search.hpp"
#include "tests/planner/brute_force.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni::test {

// Returns options by which brute force has few patches to look at, and one rung is planned.
inline SearchOptions small_options(std::int64_t limit) {
  SearchOptions options;
  options.memory_limit = limit;
  options.max_S = 2;
  options.max_extent = 6;
  options.stem_slab = 1;
  options.ladder = false;
  return options;
}

inline Result<Plan> drawn_plan(const Network& network, const SearchOptions& options, SearchLog* log = nullptr) {
  const DeviceSpec spec = drawn_device();
  const Catalogue catalogue = drawn::catalogue();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  return search(network, spec, catalogue, *costs, options, log);
}

}  // namespace znni::test
