// Padding, so that the output covers the whole input: (fov - 1) / 2 voxels before and the rest after. Around a box of
// the input lie the input's own voxels; only positions outside the input are padded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/files/bbox.hpp"

namespace znni::client {

enum class Padding { none, zero, reflect, edge };

[[nodiscard]] Result<Padding> parse_padding(const std::string& name);
[[nodiscard]] std::string to_string(Padding padding);

// Extents and offsets of a box of a volume, with the voxels that a net reads around it.
struct PaddedExtent {
  Padding padding = Padding::none;
  Vec3 inner;   // the volume's own extent
  Vec3 origin;  // position of the volume's first voxel in `outer`; negative if `outer` begins after it
  Vec3 outer;   // extent of the box plus field of view - 1, or of the box alone if `padding` is none
};
// Pads `box`, which lies in a volume of extent `inner`.
[[nodiscard]] PaddedExtent pad(Padding padding, Vec3 inner, const Box& box, Vec3 fov);

// Returns the voxel of the volume that `position` of `outer` reads along `axis`; nullopt stands for zero. Reflection
// repeats as often as needed about the first and last voxel of the volume, which are not doubled. With `edge` these
// stand for all beyond them.
[[nodiscard]] std::optional<std::int64_t> source_position(const PaddedExtent& extent, int axis, std::int64_t position);
// Returns the box of the volume that is read.
[[nodiscard]] Box read_box(const PaddedExtent& extent);

}  // namespace znni::client
