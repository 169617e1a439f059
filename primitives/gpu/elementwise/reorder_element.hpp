// Reorders between planar and channels last and conversions between element types, per element.
#pragma once

#include "primitives/gpu/element.hpp"
#include "primitives/gpu/kernel_types.hpp"

namespace znni::cuda {

// Rows of voxels (s, z, y) with all their channels. Squares of voxels by channels are read along the axis that is
// contiguous in the source. They are written along the one that is contiguous in the destination.
struct ReorderArg {
  Index S = 1;
  Index channels = 1;
  Extent n;
  Steps from;
  Steps to;
  bool from_planar = true;
  bool to_planar = true;
};

struct ReorderRow {
  Index from = 0;
  Index to = 0;
};
constexpr Index reorder_rows(const ReorderArg& arg) { return arg.S * arg.n.z * arg.n.y; }
constexpr ReorderRow reorder_row(const ReorderArg& arg, Index index) {
  const Index y = index % arg.n.y;
  const Index z = index / arg.n.y % arg.n.z;
  const Index s = index / (arg.n.y * arg.n.z);
  return {s * arg.from.S + z * arg.from.z + y * arg.from.y, s * arg.to.S + z * arg.to.z + y * arg.to.y};
}

template <class From, class To>
constexpr To converted(From value) {
  return narrow(widen(value), To());
}

}  // namespace znni::cuda
