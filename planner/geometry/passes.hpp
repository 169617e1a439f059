// In which passes the net runs over a patch, and what each leaves to the next (planner/geometry/geometry.hpp says what
// a pass is). A part of make_geometry.
#pragma once

#include "planner/geometry/geometry.hpp"

namespace znni {

// Fills held, runs, windows and phases of a geometry whose modes are known, a stem in slabs aside, which runs more
// often. `whole`: fragments of the output value that all passes of one window make together. Fails with `unsupported`
// if a held input would not be all that is alive, or for more than 2^16 passes.
[[nodiscard]] Result<void> count_passes(const Network& network, const std::array<AxisFragments, 3>& whole,
                                        Geometry& geometry);
// Returns the shift of the last pass.
[[nodiscard]] Vec3 last_shift(const std::array<AxisFragments, 3>& whole);
// Returns the passes themselves. Fails as count_passes() does.
[[nodiscard]] Result<void> lay_passes(const Network& network, const std::array<AxisFragments, 3>& whole,
                                      Geometry& geometry);

}  // namespace znni
