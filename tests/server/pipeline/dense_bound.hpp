// How far each voxel of a plan's dense output may be off: the tolerance of every layer (tests/oracle/tolerance.hpp), of
// the largest values that lie within the plan's reach of the voxel in place of the largest of all, carried on through
// the layers behind it.
#pragma once

#include "planner/network/network.hpp"
#include "tests/oracle/oracle.hpp"

namespace znni::test {

// Returns the bound for all channels of each voxel, [n - fov + 1]. `margin`: of the plan's rungs
// (planner/geometry/rounding_reach.hpp).
[[nodiscard]] oracle::Values dense_bound(const Network& network, const NetworkWeights& weights, Vec3 n,
                                         const oracle::Values& volume, Vec3 margin);

}  // namespace znni::test
