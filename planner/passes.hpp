// In which passes the net runs over a patch, and what each leaves to the next (planner/geometry.hpp says what a
// pass is). A part of make_geometry.
#pragma once

#include "planner/geometry.hpp"

namespace znni {

// Fills held, passes, runs and windows of a geometry whose choice is known. `whole`: fragments of the output value
// that all passes of one window make together. `unsupported` where a held input would not be all that is alive,
// and beyond 2^16 passes.
[[nodiscard]] Result<void> lay_passes(const Network& network, const std::array<AxisFragments, 3>& whole,
                                      Geometry& geometry);

}  // namespace znni
