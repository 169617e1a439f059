// Order of max-pooling fragments (MPF; ZNNi section V) and the places of their voxels in the dense output.
//
// Along one axis, poolings by strides q1, q2, ... make fragments with offsets o = o1 + q1 o2 + q1 q2 o3 ... , 0 <= oj <
// qj. The newest pooling is the most significant digit: index = (o_new) * fragments_before + index_before. Fragments
// thus stand in rising order of their offset. Two branches of a net that pool by different strides in a different order
// therefore agree on the order of their fragments.
#pragma once

#include <cstdint>
#include <vector>

#include "primitives/core/shape.hpp"

namespace znni {

// Fragments along one axis: their offsets in voxels of the patch, rising.
struct AxisFragments {
  std::int64_t stride = 1;  // of the dense grid per voxel of a fragment, plain poolings included
  std::vector<std::int64_t> offsets = {0};

  // Returns the fragments after a pooling by q at the offsets [0, count): offsets o + stride * j, stride * q.
  [[nodiscard]] AxisFragments pooled(std::int64_t q, std::int64_t count) const;
  [[nodiscard]] AxisFragments pooled(std::int64_t q) const { return pooled(q, q); }
  // Returns the fragments after a plain strided pooling: the same offsets, stride * q.
  [[nodiscard]] AxisFragments strided(std::int64_t q) const { return pooled(q, 1); }
  bool operator==(const AxisFragments&) const = default;
};

// Returns the row-major (z, y, x) index of the fragment at `index` in a grid of `fragments`.
[[nodiscard]] std::int64_t fragment_index(Vec3 index, Vec3 fragments);
// Returns the position of fragment `index`: the inverse of fragment_index().
[[nodiscard]] Vec3 fragment_at(std::int64_t index, Vec3 fragments);

}  // namespace znni
