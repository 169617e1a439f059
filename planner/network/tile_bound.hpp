// Networks that are bound to their window: they normalise over all voxels of a value (Norm), pool them (GlobalPool) or
// upsample them with aligned corners. So what they compute of a window depends on all of it. They are planned for
// volumes of one extent, a window, each as one patch. In it no voxel beyond the border is computed
// (planner/geometry/closed_axes.hpp), because a mean must not count it. Volumes of other extents are for those who run
// the plan to cut into windows.
#pragma once

#include <optional>

#include "planner/network/network.hpp"

namespace znni {

// Fails if the network has a window and is not bound to one, or if it does not take volumes of that extent. Fails, too,
// if it is bound to a window and has dense poolings, whose fragments would be normalised or pooled apart. Requires what
// check(network) looks at before.
[[nodiscard]] Result<void> check_window(const Network& network);

// Returns 1 along the axes that must be closed: those along which it pads. Zeros if the network is not bound to its
// window.
[[nodiscard]] Vec3 axes_of_window(const Network& network);

// Returns the volume, frame included, that such a network is planned for: `volume`, or the window that it has. Returns
// `volume` for a network that is not bound to its window. Fails with invalid_argument if neither says how large the
// window is, or if they differ.
[[nodiscard]] Result<std::optional<Vec3>> volume_of_window(const Network& network, std::optional<Vec3> volume);

// Fails if a node would read other voxels as all of its input than those that a whole volume has of it. `closed` is 1
// along axes that are closed, else 0. The error names the node.
[[nodiscard]] Result<void> check_normalised(const Network& network, Vec3 closed);

}  // namespace znni
