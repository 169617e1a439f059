// Pads that reflect: which nodes read what they reflect, and how small a volume may be.
#pragma once

#include <vector>

#include "planner/network/graph_edits.hpp"

namespace znni {

// Removes crops that pad and reflect if only a convolution reads them whose window is wide enough. Each window with a
// voxel outside then holds the voxel that stands there, and nothing more than the window is read. Such a convolution
// gets the pads. Returns what each node takes its pads for. Requires pads.size() == nodes.size().
[[nodiscard]] std::vector<OutsideKind> take_in_reflections(LoadedNetwork& loaded, std::vector<Border>& pads);

// Returns the extent of the smallest volume that has all voxels that nodes reflect; 1 along axes along which none does.
// `kinds`: per node, as take_in_reflections() returns them; `extents`: per value, of a large volume, extents[0].
// `declared`: the input's extents as the file has them, 0 where it leaves an axis open. The error names the node.
[[nodiscard]] Result<Vec3> find_min_volume(const Network& network, const std::vector<Border>& pads,
                                           const std::vector<OutsideKind>& kinds, const std::vector<Vec3>& extents,
                                           Vec3 declared);

// Checks that the smallest volume that check_volume() lets pass has the voxels that nodes reflect, and that readers'
// windows hold both such a voxel and its copy. The error names the node. Requires an extent that fits all strides.
[[nodiscard]] Result<void> check_reflections(const Network& network);

}  // namespace znni
