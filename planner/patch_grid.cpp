#include "planner/patch_grid.hpp"

#include <algorithm>

namespace znni {
namespace {

// One patch along one axis.
struct Place {
  std::int64_t start = 0;
  std::int64_t own_first = 0;
  std::int64_t own_last = 0;
};

// How many patches of dense extent `part` cover `dense`.
std::int64_t count_along(std::int64_t dense, std::int64_t part) { return div_up(dense, part); }

// Patch `i` along one axis: owns [i part, (i + 1) part), but reads from no further than where the volume ends.
Place place_along(std::int64_t dense, std::int64_t part, std::int64_t i) {
  const std::int64_t start = std::min(i * part, std::max<std::int64_t>(0, dense - part));
  return {start, i * part - start, std::min((i + 1) * part, dense) - start};
}

struct Extents {
  Vec3 dense;
  Vec3 part;
  Vec3 count;
};

Extents extents(Vec3 volume, Vec3 patch_input, Vec3 fov) {
  ensure(covers(volume, fov), "the volume is smaller than the field of view");
  ensure(covers(patch_input, fov), "the patch is smaller than the field of view");
  Extents result{volume - fov + Vec3::cube(1), patch_input - fov + Vec3::cube(1), {}};
  for (int axis = 0; axis < 3; ++axis) result.count[axis] = count_along(result.dense[axis], result.part[axis]);
  return result;
}

PatchPlace place(const Extents& extents, Vec3 at) {
  PatchPlace result;
  for (int axis = 0; axis < 3; ++axis) {
    const Place along = place_along(extents.dense[axis], extents.part[axis], at[axis]);
    result.start[axis] = along.start;
    result.own_first[axis] = along.own_first;
    result.own_last[axis] = along.own_last;
  }
  return result;
}

}  // namespace

PatchGrid make_patch_grid(Vec3 volume, Vec3 patch_input, Vec3 fov) {
  const Extents all = extents(volume, patch_input, fov);
  PatchGrid grid{all.count, {}};
  grid.patches.reserve(static_cast<std::size_t>(voxels(all.count)));
  for (std::int64_t z = 0; z < all.count.z; ++z) {
    for (std::int64_t y = 0; y < all.count.y; ++y) {
      for (std::int64_t x = 0; x < all.count.x; ++x) grid.patches.push_back(place(all, {z, y, x}));
    }
  }
  return grid;
}

std::int64_t patch_count(Vec3 volume, Vec3 patch_input, Vec3 fov) {
  return voxels(extents(volume, patch_input, fov).count);
}

}  // namespace znni
