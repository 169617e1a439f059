// Overlap-save tiling of a volume: patches of one extent whose outputs cover the dense output exactly. The
// last patch along an axis is moved inward, so that no voxel outside the volume is read; a volume smaller
// than the patch is read as if it continued with zeros, and what depends on those is not written.
#pragma once

#include <vector>

#include "primitives/core/shape.hpp"

namespace znni {

// One patch: reads [start, start + patch_input) of the volume and owns the dense outputs
// [start + own_first, start + own_last) of its own patch_output, which no other patch writes.
struct PatchPlace {
  Vec3 start;
  Vec3 own_first;
  Vec3 own_last;
  bool operator==(const PatchPlace&) const = default;
};

// Rows of patches in z order; within a row y then x. Output voxels [0, z_done) are complete after row i.
struct PatchGrid {
  Vec3 count;  // patches per axis
  std::vector<PatchPlace> patches;
};

// `volume`, `patch_input` in input voxels, `fov` per axis. Requires covers(volume, fov) and
// covers(patch_input, fov). Every dense output voxel is owned exactly once.
[[nodiscard]] PatchGrid make_patch_grid(Vec3 volume, Vec3 patch_input, Vec3 fov);

// Number of patches alone; saturates.
[[nodiscard]] std::int64_t patch_count(Vec3 volume, Vec3 patch_input, Vec3 fov);

}  // namespace znni
