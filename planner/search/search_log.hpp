// Fills in what a SearchLog says about the geometry that was chosen.
#pragma once

#include "planner/search/geometry_search.hpp"

namespace znni {

// Appends every estimate of every node with its cost (best first per node, nodes in order) and every refusal. Of a pair
// (planner/plan/pairs.hpp) the estimates of both at once, at its first node.
void log_choices(const Network& network, const FoundRung& found, const DeviceSpec& spec, const Catalogue& catalogue,
                 CostSource& costs, SearchLog& log);

}  // namespace znni
