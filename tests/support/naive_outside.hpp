// What a fill of padding leaves in a tensor, voxel by voxel from the text of OutsideFill.
#pragma once

#include <algorithm>
#include <vector>

#include "primitives/core/outside_fill.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

// Returns the value that voxel `v` of a channel has after `fill`, of what it had before: before[z][y][x].
inline float after_outside(const OutsideFill& fill, const std::vector<float>& before, Vec3 v) {
  const Vec3 n = fill.view.shape.n;
  const auto value_at = [&](Vec3 at) { return before[static_cast<std::size_t>((at.z * n.y + at.y) * n.x + at.x)]; };
  Vec3 from = v;
  std::array<bool, 3> seen{};
  for (int i = 0; i < 3; ++i) {
    const InsideAxis& axis = fill.axes[static_cast<std::size_t>(i)];
    if (fill.rule == OutsideRule::nearest) from[i] = std::clamp(v[i], axis.seen_first, axis.seen_last - 1);
    if (fill.rule == OutsideRule::reflected) {
      from[i] = from[i] < axis.first ? 2 * axis.first - from[i] : from[i];
      from[i] = from[i] >= axis.last ? 2 * (axis.last - 1) - from[i] : from[i];
    }
    seen[static_cast<std::size_t>(i)] = from[i] >= axis.seen_first && from[i] < axis.seen_last;
  }
  if (seen[0] && seen[1] && seen[2]) return value_at(from);
  const bool stays = fill.rule == OutsideRule::reflected && !seen[0] && v.z < fill.kept;
  return stays ? value_at(v) : fill.value;
}

// Returns a fill of random axes for a view of this shape, of which some voxels are inside.
inline OutsideFill random_fill(const TensorView& view, Random& random) {
  OutsideFill fill{view, static_cast<OutsideRule>(random.integer(0, 2)), {}, 0, 0.0F};
  for (int i = 0; i < 3; ++i) {
    InsideAxis& axis = fill.axes[static_cast<std::size_t>(i)];
    axis.first = random.integer(-2, view.shape.n[i] - 1);
    axis.last = std::max<std::int64_t>(axis.first, 0) + random.integer(1, view.shape.n[i]);
    axis.seen_first = std::max<std::int64_t>(axis.first, 0);
    axis.seen_last = std::min(axis.last, view.shape.n[i]);
  }
  if (fill.rule == OutsideRule::reflected) fill.kept = random.integer(0, view.shape.n.z - 1);
  if (fill.rule == OutsideRule::value) fill.value = -3.0F;
  return fill;
}

}  // namespace znni::test
