// The order in which a search looks at its candidates, and how many at once.
#pragma once

#include <cstddef>
#include <vector>

#include "planner/geometry/geometry.hpp"

namespace znni {

// Returns every number below `count` once: first one of so many, so that the others have something to beat.
[[nodiscard]] std::vector<std::size_t> looking_order(std::size_t count);

// Returns the nodes of a geometry by the time that its calls of them are likely to take, the longest first. An
// operation takes as long as `seconds_per_operation`, per node, says. `absent`: per value, whether a pair leaves it
// out; empty where none does. Of a pair its convolution speaks for both.
[[nodiscard]] std::vector<std::size_t> slowest_first(const Geometry& geometry, const std::vector<bool>& absent,
                                                     const std::vector<Seconds>& seconds_per_operation);

// Returns the size of a round. All threads look at the candidates of a round, against what the rounds before found. The
// size follows from the place of the round alone: few where each may change what is known.
[[nodiscard]] std::size_t round_size(std::size_t done);

}  // namespace znni
