// The head of a network in slabs (planner/geometry/geometry.hpp says what a head is). A part of make_geometry.
#pragma once

#include "planner/geometry/geometry.hpp"

namespace znni {

// `unsupported`, with the reason, where no head of `choice` can run in slabs.
[[nodiscard]] Result<void> check_head(const Network& network, const GeometryChoice& choice);

// The head of a geometry whose values are known as a whole; `unsupported` where the slab is no part of the pooling's
// output. Requires check_head(network, whole.choice) and choice.head_slab != 0.
[[nodiscard]] Result<Head> make_head(const Network& network, const Geometry& whole);

}  // namespace znni
