// The order in which a search looks at its candidates, and how many at once.
#pragma once

#include <cstddef>
#include <vector>

namespace znni {

// Returns every number below `count` once: first one of so many, so that the others have something to beat.
[[nodiscard]] std::vector<std::size_t> looking_order(std::size_t count);

// Candidates are looked at in rounds, by all threads, against what the rounds before found. How many a round has
// follows from its place alone: few where each may change what is known.
[[nodiscard]] std::size_t round_size(std::size_t done);

}  // namespace znni
