// Order of max-pooling fragments (ZNNi section V) and where their voxels belong in the dense output.
//
// Along one axis, poolings by strides q1, q2, ... make fragments with offsets o = o1 + q1 o2 + q1 q2 o3 ... ,
// 0 <= oj < qj. Fragments are kept in rising order of their offset, so the newest pooling is the most
// significant digit: index = (o_new) * fragments_before + index_before. Two branches of a net that pool by
// other strides in another order thus agree on the order of their fragments.
#pragma once

#include <cstdint>
#include <vector>

#include "primitives/core/shape.hpp"

namespace znni {

// Fragments along one axis: their offsets in voxels of the patch, rising.
struct AxisFragments {
  std::int64_t stride = 1;  // of the dense grid per voxel of a fragment, plain poolings included
  std::vector<std::int64_t> offsets = {0};

  // A pooling by q taken at the offsets [0, count): offsets o + stride * j, stride * q.
  [[nodiscard]] AxisFragments pooled(std::int64_t q, std::int64_t count) const;
  [[nodiscard]] AxisFragments pooled(std::int64_t q) const { return pooled(q, q); }
  // A plain strided pooling: no new offsets, stride * q.
  [[nodiscard]] AxisFragments strided(std::int64_t q) const { return pooled(q, 1); }
  bool operator==(const AxisFragments&) const = default;
};

// Row-major (z, y, x) index of fragment `index` among `fragments`.
[[nodiscard]] std::int64_t fragment_index(Vec3 index, Vec3 fragments);
// Its inverse.
[[nodiscard]] Vec3 fragment_at(std::int64_t index, Vec3 fragments);

}  // namespace znni
