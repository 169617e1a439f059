// How far a single voxel may be off: tolerance() with the largest values around it in place of the largest of all.
#pragma once

#include <span>

#include "tests/oracle/tolerance.hpp"

namespace znni::oracle {

// The largest absolute value of each voxel over the images: [S][z][y][x].
[[nodiscard]] Values largest_of_images(const Shape5& shape, const Values& values);

// Of values [S][n]: the largest from `before` voxels before to `after` voxels behind each of the first n_out voxels of
// every axis, as far as there are voxels: [S][n_out].
[[nodiscard]] Values largest_around(const Values& values, Vec3 n, Vec3 before, Vec3 after, Vec3 n_out);

// Of each output voxel, for all its images: [S][z][y][x] of the output. It is computed from inputs no larger than they
// are within its reach: in what it reads, and `spread` (Estimate::spread) around that.
[[nodiscard]] Values local_tolerance(const LayerProblem& problem, std::span<const Values> inputs,
                                     const LayerWeights& weights, Vec3 spread);

}  // namespace znni::oracle
