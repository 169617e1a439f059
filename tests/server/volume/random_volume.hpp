// Volumes of random voxels in any type and order, and their voxels one by one: the slow, plain way.
#pragma once

#include <cstring>
#include <vector>

#include "primitives/core/half.hpp"
#include "server/volume/element.hpp"
#include "server/volume/volume_view.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

struct RandomVolume {
  VolumeShape shape;
  std::vector<std::byte> bytes;
  [[nodiscard]] VolumeView view() const { return {bytes.data(), shape}; }
};

[[nodiscard]] inline std::int64_t voxel_index(const VolumeShape& shape, std::int64_t j, Vec3 at) {
  const Vec3 n = shape.n;
  return shape.order == VolumeOrder::channel_major ? ((j * n.z + at.z) * n.y + at.y) * n.x + at.x
                                                   : ((at.z * shape.f + j) * n.y + at.y) * n.x + at.x;
}

// Returns a voxel as float, before normalisation.
[[nodiscard]] inline float voxel(const std::byte* data, const VolumeShape& shape, std::int64_t j, Vec3 at) {
  const std::byte* element = data + voxel_index(shape, j, at) * element_bytes(shape.type);
  float value = 0;
  std::uint16_t word = 0;
  switch (shape.type) {
    case ElementType::u8: return static_cast<float>(*element);
    case ElementType::f32: std::memcpy(&value, element, 4); return value;
    case ElementType::u16: std::memcpy(&word, element, 2); return static_cast<float>(word);
    case ElementType::f16: std::memcpy(&word, element, 2); return float_from_half(word);
    case ElementType::bf16: break;  // volumes have none
  }
  return value;
}

[[nodiscard]] inline VolumeOrder random_order(Random& random) {
  return random.chance(0.5) ? VolumeOrder::channel_major : VolumeOrder::plane_major;
}

[[nodiscard]] inline RandomVolume random_volume(std::int64_t f, Vec3 n, ElementType type, Random& random) {
  RandomVolume volume{{f, n, type, random_order(random)}, {}};
  const std::int64_t count = f * voxels(n);
  volume.bytes.resize(static_cast<std::size_t>(volume_bytes(volume.shape)));
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* element = volume.bytes.data() + i * element_bytes(type);
    const float value = random.normal();
    const std::uint16_t half = half_from_float(value);
    const auto word = static_cast<std::uint16_t>(random.integer(0, 65535));
    if (type == ElementType::f32) std::memcpy(element, &value, 4);
    if (type == ElementType::f16) std::memcpy(element, &half, 2);
    if (type == ElementType::u16) std::memcpy(element, &word, 2);
    if (type == ElementType::u8) *element = static_cast<std::byte>(word & 255);
  }
  return volume;
}

}  // namespace znni::test
