// Extents, and numbers computed from them, for all volumes that a net takes at once.
//
// A net whose strides come together after `step` voxels takes volumes of least + step * t voxels along an axis, t = 0,
// 1, 2, ... So every extent in it is least + step * t again, with a t of its own for each axis. So is every whole
// number that a file computes of extents. What such a number decides is decided for all volumes, or refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/network/network.hpp"

namespace znni {

// Extents least[axis] + step[axis] * t[axis] along each axis. A least of 0: not known along this axis.
struct VolumeExtents {
  Vec3 least;
  Vec3 step;
  bool operator==(const VolumeExtents&) const = default;
};

// Voxels that a node has at the ends of its input beyond whole steps of its stride.
struct ExtentAfter {
  VolumeExtents extents;
  Vec3 rest;
};

// Returns the extents of what a node writes, rounded down as ONNX does, of an input with extents `in` and `pads` around
// it. Along an axis where the stride does not divide the step, or nothing is left, they are not known.
[[nodiscard]] ExtentAfter extents_after(const Operation& operation, const Border& pads, const VolumeExtents& in);

// The whole number least + step.z * t.z + step.y * t.y + step.x * t.x, for all t from 0 up.
struct VolumeNumber {
  std::int64_t least = 0;
  Vec3 step;
  bool operator==(const VolumeNumber&) const = default;
};

// Returns the extent along `axis`; nullopt if it is not known.
[[nodiscard]] std::optional<VolumeNumber> extent_along(const VolumeExtents& extents, int axis);

// Return whether the number is the same for all volumes, at least 0 for all, below 0 for all.
[[nodiscard]] bool is_constant(const VolumeNumber& number);
[[nodiscard]] bool is_never_negative(const VolumeNumber& number);
[[nodiscard]] bool is_always_negative(const VolumeNumber& number);

// Return the result for all volumes; nullopt if it is not of this form, or does not fit 64 bits.
[[nodiscard]] std::optional<VolumeNumber> sum(const VolumeNumber& a, const VolumeNumber& b);
[[nodiscard]] std::optional<VolumeNumber> difference(const VolumeNumber& a, const VolumeNumber& b);
[[nodiscard]] std::optional<VolumeNumber> product(const VolumeNumber& a, const VolumeNumber& b);
// Rounds towards 0, as ONNX does.
[[nodiscard]] std::optional<VolumeNumber> quotient(const VolumeNumber& a, const VolumeNumber& b);
// Has the sign of b, or with `like_c` that of a.
[[nodiscard]] std::optional<VolumeNumber> remainder(const VolumeNumber& a, const VolumeNumber& b, bool like_c);

// Return what is so for all volumes; nullopt if it is so for some only, as far as can be told.
[[nodiscard]] std::optional<bool> is_less(const VolumeNumber& a, const VolumeNumber& b);
[[nodiscard]] std::optional<bool> is_equal(const VolumeNumber& a, const VolumeNumber& b);

// Returns a / b if that is the same for all volumes. b is not 0.
[[nodiscard]] std::optional<double> ratio(const VolumeNumber& a, const VolumeNumber& b);

// Returns "7", or "a number that depends on the volume".
[[nodiscard]] std::string to_string(const VolumeNumber& number);

}  // namespace znni
