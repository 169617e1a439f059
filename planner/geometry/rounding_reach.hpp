// How far the rounding errors of a plan reach. A sliding window rounds what lies in its field of view. A transform
// rounds all of its tile together: each of its outputs is off by a share of the largest value in the tile. Through the
// net these tiles add up as a field of view does, but to either side.
#pragma once

#include <vector>

#include "planner/geometry/geometry.hpp"

namespace znni {

// In voxels of the network's input; z, y, x of the volume.
struct RoundingReach {
  Vec3 field_of_view = Vec3::cube(1);
  Vec3 margin;  // beyond it, to either side

  // Returns the extent of the input voxels on whose size the error of an output voxel depends.
  [[nodiscard]] Vec3 voxels() const { return field_of_view + margin + margin; }
  bool operator==(const RoundingReach&) const = default;
};

// Returns how far rounding errors reach. `spreads`: per node, Estimate::spread of what computes it, along the axes of
// the geometry. The margin ends with the patch: voxels of others are never read. Steps of a stream follow each other
// without an end.
[[nodiscard]] RoundingReach rounding_reach(const Network& network, const Geometry& geometry,
                                           const std::vector<Vec3>& spreads);

}  // namespace znni
