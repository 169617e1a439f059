// Parts of the walk over a network's reaches that check() shares (planner/network/network.hpp has the rest).
#pragma once

#include "planner/network/network.hpp"

namespace znni {

// Returns what a node makes of the reaches of its inputs, which are equal. An upsampling's factor divides their stride.
[[nodiscard]] Reach reach_after(const Operation& operation, Reach in);

// Returns what min_extent() does. Fails with invalid_argument if no extent fits all strides.
[[nodiscard]] Result<Vec3> find_min_extent(const Network& network);

// Returns the smallest extent of a patch that leaves no voxel of a value unread. Pads that reflect ask for larger
// volumes, not for larger patches. Requires check().
[[nodiscard]] Vec3 min_patch(const Network& network);

}  // namespace znni
