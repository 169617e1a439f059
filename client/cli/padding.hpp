// Padding, so that the output covers the whole input: (fov - 1) / 2 voxels before and the rest after.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "primitives/core/shape.hpp"

namespace znni::client {

enum class Padding { none, zero, reflect };

[[nodiscard]] Result<Padding> parse_padding(const std::string& name);
[[nodiscard]] std::string to_string(Padding padding);

// Extents and offsets of a padded volume.
struct PaddedExtent {
  Padding padding = Padding::none;
  Vec3 inner;   // the volume's own extent
  Vec3 before;  // voxels of padding before it
  Vec3 outer;   // with padding
};
[[nodiscard]] PaddedExtent pad(Padding padding, Vec3 inner, Vec3 fov);

// The inner coordinate that outer coordinate `position` reads along `axis`; nullopt reads zero. Reflection is
// about the first and last voxel, which are not repeated, as often as needed.
[[nodiscard]] std::optional<std::int64_t> source_position(const PaddedExtent& extent, int axis, std::int64_t position);

}  // namespace znni::client
