// How operations read. From the reading of each node follow the voxels that a network loses at its borders, and its
// strides. So does what a part of a value, or a step of a stream, needs of the value before it. Operations over all
// voxels (reads_all_voxels()) read more than this.
#pragma once

#include "planner/network/network.hpp"

namespace znni {

// The change of the size of voxels by the strides and factors of a reading.
enum class Resizing {
  as_given,  // they change it, unless all of them are 1
  always,    // they count as the network's own strides even if they are 1
  never      // a dense pooling's: computed at every offset of its stride
};

// Along each axis, of its first input: `window` voxels at every `stride`-th place, of each of which `factor` voxels are
// written. Other inputs are read voxel by voxel as the output is written.
struct Reading {
  Vec3 window = Vec3::cube(1);
  Vec3 stride = Vec3::cube(1);
  Vec3 factor = Vec3::cube(1);
  Border idle = {};  // voxels at the ends of the window that it passes over; of a Crop all but one
  Resizing resizing = Resizing::as_given;
  Border padding = {};  // voxels beyond the ends of the volume that it makes itself, and need not read

  friend bool operator==(const Reading&, const Reading&) = default;
};

// Returns how an operation reads. Requires one that check_nodes() passes: the extents of others may overflow.
[[nodiscard]] Reading reading_of(const Operation& operation);

// Returns whether what it writes has voxels of another size than what it reads, or may have.
[[nodiscard]] bool is_resized(const Reading& reading);

// Returns the voxels by which windows lie apart that are computed for one window of the input. A dense pooling is
// computed at every offset of its stride, so it is 1 there; else the stride.
[[nodiscard]] Vec3 step_of(const Reading& reading);

}  // namespace znni
