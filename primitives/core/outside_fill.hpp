// The voxels of a tensor that stand for padding, as a piece of work for an accelerator.
#pragma once

#include <array>
#include <cstdint>

#include "primitives/core/tensor.hpp"

namespace znni {

// Voxels [first, last) along an axis are inside the value, counted from the view's first voxel. Of these the view has
// [seen_first, seen_last).
struct InsideAxis {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t seen_first = 0;
  std::int64_t seen_last = 0;
};

// value: what is outside gets OutsideFill::value. nearest: a copy of the nearest voxel that is seen. reflected: a copy
// of the voxel as far inside the border voxel, along each axis; `value` if the view does not have it. The first `kept`
// planes of a reflected fill stay if the planes of which they are copies are not there.
enum class OutsideRule { value, nearest, reflected };

// Voxels that are inside are read alone. Those outside are written, in all channels of the view.
struct OutsideFill {
  TensorView view;  // planar or channels last, in device memory
  OutsideRule rule = OutsideRule::value;
  std::array<InsideAxis, 3> axes;  // z, y, x
  std::int64_t kept = 0;
  float value = 0.0F;
};

}  // namespace znni
