#include "proto/convert/onnx/graph/onnx_layout.hpp"

#include <algorithm>

namespace znni {
namespace {

// Returns whether the first part goes on where the second one ends.
bool follow(const LayoutPart& outer, const LayoutPart& inner) {
  return outer.channel_step == inner.channel_step * inner.extent && outer.voxel_step == inner.voxel_step * inner.extent;
}

// Takes places from the front of `parts` for an axis of this extent; nothing if a part cannot be cut so.
std::optional<LayoutAxis> take(std::vector<LayoutPart>& parts, std::int64_t extent) {
  LayoutAxis taken;
  while (extent > 1) {
    if (parts.empty()) return std::nullopt;
    LayoutPart& front = parts.front();
    if (extent % front.extent == 0) {
      extent /= front.extent;
      taken.push_back(front);
      parts.erase(parts.begin());
    } else if (front.extent % extent == 0) {
      const std::int64_t rest = front.extent / extent;
      taken.push_back({extent, front.channel_step * rest, front.voxel_step * rest});
      front.extent = rest;
      extent = 1;
    } else {
      return std::nullopt;
    }
  }
  return joined(taken);
}

}  // namespace

std::int64_t extent_of(const LayoutAxis& axis) {
  std::int64_t extent = 1;
  for (const LayoutPart& part : axis) extent = mul(extent, part.extent);
  return extent;
}

std::vector<std::int64_t> extents_of(const AxisLayout& layout) {
  std::vector<std::int64_t> extents;
  for (const LayoutAxis& axis : layout.axes) extents.push_back(extent_of(axis));
  return extents;
}

LayoutAxis joined(const LayoutAxis& parts) {
  LayoutAxis all;
  for (const LayoutPart& part : parts) {
    if (part.extent == 1) continue;
    if (!all.empty() && follow(all.back(), part)) {
      all.back() = {all.back().extent * part.extent, part.channel_step, part.voxel_step};
    } else {
      all.push_back(part);
    }
  }
  return all;
}

LayoutAxis axis_of_channels(std::int64_t channels) { return joined({{channels, 1, 0}}); }

LayoutAxis axis_of_voxels(std::int64_t count) { return joined({{count, 0, 1}}); }

AxisLayout layout_of_value(int value, std::int64_t batch, std::int64_t channels, Vec3 n, int rank) {
  AxisLayout layout{value, 0, {joined({{batch, 0, 0}}), axis_of_channels(channels)}};
  for (int axis = 3 - rank; axis < 3; ++axis) {
    const std::int64_t step = axis == 2 ? 1 : axis == 1 ? n.x : n.y * n.x;
    layout.axes.push_back(joined({{n[axis], 0, step}}));
  }
  return layout;
}

std::optional<AxisLayout> regrouped(const AxisLayout& layout, const std::vector<std::int64_t>& extents) {
  std::vector<LayoutPart> parts;
  for (const LayoutAxis& axis : layout.axes) parts.insert(parts.end(), axis.begin(), axis.end());
  AxisLayout result{layout.value, layout.first_channel, {}};
  for (const std::int64_t extent : extents) {
    std::optional<LayoutAxis> axis = take(parts, extent);
    if (!axis) return std::nullopt;
    result.axes.push_back(*std::move(axis));
  }
  return parts.empty() ? std::optional(std::move(result)) : std::nullopt;
}

AxisLayout permuted(const AxisLayout& layout, const std::vector<std::size_t>& order) {
  AxisLayout result{layout.value, layout.first_channel, {}};
  for (const std::size_t axis : order) result.axes.push_back(layout.axes[axis]);
  return result;
}

std::optional<AxisLayout> cut_out(const AxisLayout& layout, std::size_t axis, std::int64_t first, std::int64_t count) {
  const LayoutAxis& parts = layout.axes[axis];
  if (count == extent_of(parts)) return layout;
  // Whole places of the first part, which moves slowest.
  const std::int64_t each = extent_of(parts) / parts.front().extent;
  const bool is_whole = first % each == 0 && count % each == 0;
  const bool are_channels = parts.front().channel_step > 0 && parts.front().voxel_step == 0;
  if (!is_whole || !are_channels) return std::nullopt;
  AxisLayout result = layout;
  result.first_channel += first / each * parts.front().channel_step;
  result.axes[axis].front().extent = count / each;
  result.axes[axis] = joined(result.axes[axis]);
  return result;
}

std::vector<LayoutPlace> places_of(const AxisLayout& layout) {
  std::vector<LayoutPlace> places = {{layout.first_channel, 0}};
  for (const LayoutAxis& axis : layout.axes) {
    for (const LayoutPart& part : axis) {
      std::vector<LayoutPlace> next;
      next.reserve(places.size() * static_cast<std::size_t>(part.extent));
      for (const LayoutPlace& place : places) {
        for (std::int64_t i = 0; i < part.extent; ++i) {
          next.push_back({place.channel + i * part.channel_step, place.voxel + i * part.voxel_step});
        }
      }
      places = std::move(next);
    }
  }
  return places;
}

}  // namespace znni
