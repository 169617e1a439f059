// A fixture for searches over a small network with primitives of drawn times.
#pragma once

#include <gtest/gtest.h>

#include "planner/search/geometry_search.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni::test {

class DrawnSearch : public testing::Test {
 protected:
  DrawnSearch() {
    options_.memory_limit = 1 << 20;
    options_.max_extent = 16;
    options_.ladder = false;
  }
  GeometrySearch searcher() {
    return {network_, spec_,    catalogue_,
            *costs_,  options_, std::vector<const Primitive*>(network_.nodes.size(), nullptr)};
  }
  Plan best() { return search(network_, spec_, catalogue_, *costs_, options_).value(); }

  Network network_ = drawn::chain();
  Catalogue catalogue_ = drawn::catalogue();
  DeviceSpec spec_;
  std::unique_ptr<CostSource> costs_ = modelled_costs();
  SearchOptions options_;
};

}  // namespace znni::test
