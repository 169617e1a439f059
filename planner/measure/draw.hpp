// Plans drawn from the space that a search looks through, winners and losers alike. They show if predictions hold for
// plans that no search chose, and if the chosen one was the best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/search/search.hpp"

namespace znni {

struct DrawOptions {
  std::size_t count = 40;
  std::uint64_t seed = 1;
  Seconds max_seconds = 60;  // a patch may be predicted to take, or all of a stream's steps until output comes
};

// Plans of one rung each, no two the same, within options.memory_limit: any geometry, any primitive for any node, any
// part of the memory. Equal arguments give equal plans. Fewer than asked for where a hundred tries for each find no
// more, or options.stop ends it. The error is that of a network or of options that no search takes.
[[nodiscard]] Result<std::vector<Plan>> draw_plans(const Network& network, const DeviceSpec& spec,
                                                   const Catalogue& catalogue, CostSource& costs,
                                                   const SearchOptions& options, const DrawOptions& draw);

// Returns the best plan of each of the draw.count geometries nearest to that of `plan`: a little larger or smaller, of
// another S, or pooled in another way.
[[nodiscard]] Result<std::vector<Plan>> neighbours(const Plan& plan, const Network& network, const DeviceSpec& spec,
                                                   const Catalogue& catalogue, CostSource& costs,
                                                   const SearchOptions& options, const DrawOptions& draw);

}  // namespace znni
