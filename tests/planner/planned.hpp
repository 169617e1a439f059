// A small network planned with primitives of drawn times: for tests of what is told of plans.
#pragma once

#include <gtest/gtest.h>

#include "planner/report/report.hpp"
#include "planner/search/search.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni::test {

struct Planned {
  explicit Planned(Network net = drawn::chain(), std::int64_t limit = 300000) : network(std::move(net)) {
    spec.name = "drawn device";
    SearchOptions options;
    options.memory_limit = limit;
    options.max_extent = 20;
    const std::unique_ptr<CostSource> costs = modelled_costs();
    Result<Plan> made = search(network, spec, catalogue, *costs, options, &log);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    plan = *std::move(made);
  }

  Network network;
  DeviceSpec spec;
  Catalogue catalogue = drawn::catalogue();
  SearchLog log;
  Plan plan;
};

}  // namespace znni::test
