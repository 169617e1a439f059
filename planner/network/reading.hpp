// How operations read. What a network loses at its borders, which strides it has, what a part of a value or a step of a
// stream needs of the value before it: all of these follow from the reading of each node.
#pragma once

#include "planner/network/network.hpp"

namespace znni {

// Along each axis, of its first input: `window` voxels at every `stride`-th place, of each of which `factor` voxels are
// written. Other inputs are read voxel by voxel as the output is written.
struct Reading {
  Vec3 window = Vec3::cube(1);
  Vec3 stride = Vec3::cube(1);
  Vec3 factor = Vec3::cube(1);
  Border idle = {};         // voxels at the ends of the window that it passes over; of a Crop all but one
  bool is_resized = false;  // strides and factors change the size of voxels; else the stride is a dense pooling's
};

[[nodiscard]] Reading reading_of(const Operation& operation);

// Returns the voxels by which windows lie apart that are computed for one window of the input: a dense pooling is
// computed at every offset of its stride, so 1 there; else the stride.
[[nodiscard]] Vec3 step_of(const Reading& reading);

}  // namespace znni
