// Where the axes of a tensor of a file lie in the channels and voxels of a value. Transformers reshape and transpose
// voxels to tokens, and channels to heads. Nothing but a layout is computed of that.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "primitives/core/shape.hpp"

namespace znni {

// Places at equal distances: each lies so many channels and so many voxels, in the order z, y, x, behind the one
// before. Both are 0 along the batch.
struct LayoutPart {
  std::int64_t extent = 1;
  std::int64_t channel_step = 0;
  std::int64_t voxel_step = 0;
  bool operator==(const LayoutPart&) const = default;
};

// An axis: places of its parts, of which the last moves fastest. One of extent 1 has no parts. Parts that could be one
// are one, so that equal axes have equal parts.
using LayoutAxis = std::vector<LayoutPart>;

// A tensor of channels of a value from `first_channel` on.
struct AxisLayout {
  int value = 0;
  std::int64_t first_channel = 0;
  std::vector<LayoutAxis> axes;
  bool operator==(const AxisLayout&) const = default;
};

// Returns the number of places along an axis.
[[nodiscard]] std::int64_t extent_of(const LayoutAxis& axis);
[[nodiscard]] std::vector<std::int64_t> extents_of(const AxisLayout& layout);

// Returns the axis without parts of extent 1, and with those joined that could be one.
[[nodiscard]] LayoutAxis joined(const LayoutAxis& parts);

// Returns the axis of all channels, and of all voxels in a row.
[[nodiscard]] LayoutAxis axis_of_channels(std::int64_t channels);
[[nodiscard]] LayoutAxis axis_of_voxels(std::int64_t count);

// Returns the layout of [N][f][spatial...], of the last `rank` axes of extent `n`.
[[nodiscard]] AxisLayout layout_of_value(int value, std::int64_t batch, std::int64_t channels, Vec3 n, int rank);

// Returns the axes with these extents instead; nothing if they cannot be cut so. Requires as many places in all.
[[nodiscard]] std::optional<AxisLayout> regrouped(const AxisLayout& layout, const std::vector<std::int64_t>& extents);

// Returns the axes in another order; `order` holds each number of an axis once.
[[nodiscard]] AxisLayout permuted(const AxisLayout& layout, const std::vector<std::size_t>& order);

// Returns the part of the tensor from place `first` on along an axis, `count` places; nothing if these are voxels.
[[nodiscard]] std::optional<AxisLayout> cut_out(const AxisLayout& layout, std::size_t axis, std::int64_t first,
                                                std::int64_t count);

// A place of a value.
struct LayoutPlace {
  std::int64_t channel = 0;
  std::int64_t voxel = 0;
};

// Returns the places of all elements, in the order of the tensor. Requires that their number is small.
[[nodiscard]] std::vector<LayoutPlace> places_of(const AxisLayout& layout);

}  // namespace znni
