// The candidates for a network that is bound to its window (planner/network/tile_bound.hpp): one patch, that window,
// closed along all axes along which it pads. Ways of layers and formats are all that is left to choose.
#pragma once

#include <vector>

#include "planner/search/search.hpp"

namespace znni {

// Fails with invalid_argument if such a network has no window, or one that cannot be closed, or if a pin asks for
// another patch. Succeeds for other networks. Requires check(network).
[[nodiscard]] Result<void> check_window_options(const Network& network, const SearchOptions& options);

// Returns that patch. Requires a network that is bound to its window, and check_window_options().
[[nodiscard]] std::vector<GeometryChoice> window_candidates(const Network& network, const SearchOptions& options);

}  // namespace znni
