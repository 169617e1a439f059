// A volume in host memory, as a client sent it or will receive it. Not owned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "primitives/core/shape.hpp"
#include "primitives/core/tensor.hpp"

namespace znni {

// Order of the axes in memory, x contiguous: channel_major is [C][Z][Y][X] (tensors of ModelInfer), plane_major is
// [Z][C][Y][X] (the Volumes stream, where work on the first planes can start early).
enum class VolumeOrder { channel_major, plane_major };

struct VolumeShape {
  std::int64_t f = 1;  // channels
  Vec3 n;
  ElementType type = ElementType::f32;
  VolumeOrder order = VolumeOrder::channel_major;

  bool operator==(const VolumeShape&) const = default;
};

// Returns bytes of the whole volume; saturates.
[[nodiscard]] std::int64_t volume_bytes(const VolumeShape& shape);
// Return the elements from channel to channel and from plane to plane.
[[nodiscard]] std::int64_t channel_stride(const VolumeShape& shape);
[[nodiscard]] std::int64_t plane_stride(const VolumeShape& shape);

// shape.n voxels at `data`, dense, not necessarily aligned.
struct VolumeView {
  const std::byte* data = nullptr;
  VolumeShape shape;
};

// Output planes [first_plane, first_plane + shape.n.z) of the dense output.
struct OutputSlab {
  std::int64_t first_plane = 0;
  std::byte* data = nullptr;
  VolumeShape shape;
};

// Applied to every input voxel on reading: x * scale + offset, where x that is NaN or infinite is `instead`, if given.
struct Normalisation {
  float scale = 1.0F;
  float offset = 0.0F;
  std::optional<float> instead = {};
  bool operator==(const Normalisation&) const = default;
};

}  // namespace znni
