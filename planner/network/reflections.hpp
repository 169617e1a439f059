// Pads that reflect: which nodes read what they reflect, and how small a volume may be.
#pragma once

#include <string>
#include <vector>

#include "planner/network/graph_edits.hpp"

namespace znni {

// Per node: what it takes its pads for, and the node of the file that pads, itself or one that it has taken in.
struct NodePads {
  std::vector<OutsideKind> kinds;
  std::vector<std::string> names;
};

// Removes crops that pad and reflect if only a convolution reads them whose window is wide enough. Each window with a
// voxel outside then holds the voxel that stands there, and nothing more than the window is read. Such a convolution
// gets the pads. Requires pads.size() == nodes.size().
[[nodiscard]] NodePads take_in_reflections(LoadedNetwork& loaded, std::vector<Border>& pads);

// Returns the extent of the smallest volume that has all voxels that nodes reflect; 1 along axes along which none does.
// `own`: as take_in_reflections() returns it; `extents`: per value, of a large volume, extents[0]. `declared`: the
// input's extents as the file has them, 0 where it leaves an axis open. The error names the node that pads in the file.
[[nodiscard]] Result<Vec3> find_min_volume(const Network& network, const std::vector<Border>& pads, const NodePads& own,
                                           const std::vector<Vec3>& extents, Vec3 declared);

// Checks that the smallest volume that check_volume() lets pass has the voxels that nodes reflect. It also checks that
// readers' windows hold both such a voxel and its copy. The error names the node. Requires an extent that fits all
// strides.
[[nodiscard]] Result<void> check_reflections(const Network& network);

}  // namespace znni
