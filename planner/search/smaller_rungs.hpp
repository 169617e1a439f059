// The sizes of a ladder behind its first rung, on the CPU and over several places alike.
#pragma once

#include <functional>
#include <optional>

#include "planner/geometry/geometry.hpp"

namespace znni {

// Returns the extents by which smaller rungs are measured: those that a patch writes, or the cube over a stream's
// cross-section.
[[nodiscard]] Vec3 measure_of(const Geometry& first);

// Extents that a rung may write at most: it adds one and says what that writes; nothing where it added none.
using AddRung = std::function<std::optional<Vec3>(Vec3 largest)>;

// Adds rungs of about a half, a quarter and an eighth of `first` per axis, each of the one before, and `smallest`. For
// a net whose voxels need no neighbours the second has whole rows: one costs as much to begin, long or short.
void add_smaller_rungs(const Network& network, Vec3 first, Vec3 smallest, const AddRung& add);

}  // namespace znni
