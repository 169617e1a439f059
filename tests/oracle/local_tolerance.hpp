// Tolerance of a single voxel: tolerance() with the largest values within its reach in place of the largest of all.
#pragma once

#include <span>

#include "tests/oracle/tolerance.hpp"

namespace znni::oracle {

// Returns the largest absolute value of each voxel over the channels: [S][z][y][x].
[[nodiscard]] Values largest_of_channels(const Shape5& shape, const Values& values);

// Returns the largest of values [S][n] in a window around each of the first n_out voxels of every axis: [S][n_out]. The
// window reaches from `before` voxels before to `after` voxels behind, as far as there are voxels.
[[nodiscard]] Values largest_around(const Values& values, Vec3 n, Vec3 before, Vec3 after, Vec3 n_out);

// Returns the tolerance of each output voxel, the same for all its channels: [S][z][y][x] of the output. It depends on
// the largest inputs within the voxel's reach: the voxels that it reads, and `spread` (Estimate::spread) around them.
[[nodiscard]] Values local_tolerance(const LayerProblem& problem, std::span<const Values> inputs,
                                     const LayerWeights& weights, Vec3 spread);

}  // namespace znni::oracle
