#include "server/pipeline/schedule/outside_fills.hpp"

#include <algorithm>
#include <limits>

namespace znni {
namespace {

// Returns where an axis of `n` voxels, of which the first is voxel `start` of the value, is inside [begin, end).
InsideAxis inside_axis(std::int64_t start, std::int64_t n, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = std::clamp(begin - start, std::int64_t{0}, n);
  return {begin - start, end - start, first, std::max(std::min(end - start, n), first)};
}

bool is_seen(const InsideAxis& axis) { return axis.seen_first < axis.seen_last; }

// Returns true if nothing is outside.
bool is_whole(const OutsideFill& fill) {
  for (int axis = 0; axis < 3; ++axis) {
    const InsideAxis& along = fill.axes[static_cast<std::size_t>(axis)];
    if (along.seen_first != 0 || along.seen_last != fill.view.shape.n[axis]) return false;
  }
  return true;
}

// Finds what a view that has nothing inside becomes: zeros, or, of a stream behind the value, its last kept plane
// again.
void set_without_inside(OutsideFill& fill, bool is_behind, std::int64_t kept) {
  if (kept == 0 || !is_behind) {
    fill.rule = OutsideRule::value;
    return;
  }
  const Vec3 n = fill.view.shape.n;
  fill.axes = {InsideAxis{0, kept, 0, kept}, {0, n.y, 0, n.y}, {0, n.x, 0, n.x}};
}

OutsideRule rule_of(OutsideKind kind) {
  if (kind == OutsideKind::edge) return OutsideRule::nearest;
  return kind == OutsideKind::reflect ? OutsideRule::reflected : OutsideRule::value;
}

}  // namespace

std::vector<OutsideFill> outside_fills(const TensorView& view, std::span<const Vec3> starts, const Border& border,
                                       Vec3 whole, OutsideKind kind, std::int64_t kept) {
  ensure(static_cast<std::int64_t>(starts.size()) == view.shape.S, "a start for every input of the tensor");
  const Vec3 end = whole - border.end;
  std::vector<OutsideFill> fills;
  for (std::int64_t s = 0; s < view.shape.S; ++s) {
    const Vec3 start = starts[static_cast<std::size_t>(s)];
    OutsideFill fill{view, rule_of(kind), {}, kept, 0.0F};
    if (kind == OutsideKind::lowest) fill.value = -std::numeric_limits<float>::infinity();
    const std::int64_t bytes = s * view.strides.S * element_bytes(view.format.type);
    fill.view.data = reinterpret_cast<float*>(reinterpret_cast<std::byte*>(view.data) + bytes);
    fill.view.shape.S = 1;
    for (int axis = 0; axis < 3; ++axis) {
      fill.axes[static_cast<std::size_t>(axis)] =
          inside_axis(start[axis], view.shape.n[axis], border.begin[axis], end[axis]);
    }
    if (is_whole(fill)) continue;
    const bool is_empty = !std::all_of(fill.axes.begin(), fill.axes.end(), is_seen);
    if (is_empty && kind == OutsideKind::edge) set_without_inside(fill, start.z >= end.z, kept);
    fills.push_back(fill);
  }
  return fills;
}

}  // namespace znni
