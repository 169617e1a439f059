// Pooling modes drawn at random: plain, fragments, and groups of fragments, held or recomputed.
#pragma once

#include "planner/geometry/geometry.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

// Returns true if any extent makes a geometry of these modes.
[[nodiscard]] bool has_geometry(const Network& network, const std::vector<PoolingMode>& modes);

// Draws one mode per pooling, mixed if the branches allow it.
[[nodiscard]] std::vector<PoolingMode> random_modes(const Network& network, Random& random);

}  // namespace znni::test
