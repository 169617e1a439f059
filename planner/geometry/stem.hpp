// The stem of a network in slabs (planner/geometry/geometry.hpp says what a stem is). A part of make_geometry.
#pragma once

#include "planner/geometry/geometry.hpp"

namespace znni {

// Fails with `unsupported`, with the reason, if no stem of `choice` can run in slabs.
[[nodiscard]] Result<void> check_stem(const Network& network, const GeometryChoice& choice);

// Makes the stem of a geometry whose values are known as a whole. Fails with `unsupported` if the slab is not a part of
// the pooling's output. Requires check_stem(network, whole.choice) and choice.stem_slab != 0.
[[nodiscard]] Result<Stem> make_stem(const Network& network, const Geometry& whole);

}  // namespace znni
