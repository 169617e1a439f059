// The voxels of a tensor that stand for padding (OutsideFill), per element. What is inside is read alone, so elements
// may be computed in any order.
#pragma once

#include "primitives/gpu/element.hpp"
#include "primitives/gpu/kernel_types.hpp"

namespace znni::cuda {

// In the order of OutsideRule.
enum class Outside : int { value, nearest, reflected };

// As InsideAxis.
struct OutsideAxis {
  Index first = 0;
  Index last = 0;
  Index seen_first = 0;
  Index seen_last = 0;
};

struct OutsideArg {
  RowShape rows;
  bool planar = true;
  RowSteps steps;
  Outside rule = Outside::value;
  OutsideAxis z;
  OutsideAxis y;
  OutsideAxis x;
  Index kept = 0;
  float value = 0.0F;
};

// Returns the voxel along an axis of which place `v` is a copy, v itself if it is inside; -1 if there is none.
constexpr Index outside_source(Outside rule, const OutsideAxis& axis, Index v) {
  if (rule == Outside::nearest) {
    if (v < axis.seen_first) return axis.seen_first;
    return v < axis.seen_last ? v : axis.seen_last - 1;
  }
  Index from = v;
  if (rule == Outside::reflected) {
    if (from < axis.first) from = 2 * axis.first - from;
    if (from >= axis.last) from = 2 * (axis.last - 1) - from;
  }
  return axis.seen_first <= from && from < axis.seen_last ? from : -1;
}

// Sets element `element` of row `row` if it is outside.
template <class T>
constexpr void outside_element(const OutsideArg& arg, const Row& row, int element, T* data) {
  const int slow = element / arg.rows.fast;
  const int fast = element % arg.rows.fast;
  const Index v = arg.planar ? fast : slow;
  const Index z = outside_source(arg.rule, arg.z, row.z);
  const Index y = outside_source(arg.rule, arg.y, row.y);
  const Index x = outside_source(arg.rule, arg.x, v);
  if (z == row.z && y == row.y && x == v) return;
  if (z < 0 && row.z < arg.kept) return;
  T& to = data[offset_of(arg.steps, row) + element_offset(arg.steps, slow, fast)];
  if (z < 0 || y < 0 || x < 0) {
    to = narrow(arg.value, T());
    return;
  }
  const int from_x = static_cast<int>(x);
  to = data[offset_of(arg.steps, {row.s, row.channel, z, y}) +
            element_offset(arg.steps, arg.planar ? 0 : from_x, arg.planar ? from_x : fast)];
}

}  // namespace znni::cuda
