// Checks whether a net has plans as they are pinned, and says what the user can do if it has none. Each error is one
// line that names the flag.
#pragma once

#include "planner/search/search.hpp"

namespace znni {

// Checks the modes: as many as there are poolings, legal for them, and allowed by strategy and pins. Requires
// check(network).
[[nodiscard]] Result<void> check_pins(const Network& network, const SearchOptions& options);

// Says why no candidate satisfies the pins, with the nearest patches that do where --patch is one of them. Requires
// check_pins() and that make_candidates() makes none.
[[nodiscard]] Error no_candidate(const Network& network, const SearchOptions& options);

}  // namespace znni
