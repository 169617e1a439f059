#include "client/cli/nonfinite_voxel.hpp"

#include <cmath>
#include <cstring>

namespace znni::client {
namespace {

float voxel_at(std::span<const std::byte> bytes, std::size_t index) {
  float value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof(float), sizeof(float));
  return value;
}

}  // namespace

std::string to_string(const NonfiniteVoxel& voxel) {
  return "channel " + std::to_string(voxel.channel) + ", z " + std::to_string(voxel.at.z) + ", y " +
         std::to_string(voxel.at.y) + ", x " + std::to_string(voxel.at.x) + " (" + std::to_string(voxel.value) + ")";
}

std::optional<NonfiniteVoxel> find_nonfinite(std::span<const std::byte> bytes, VoxelType type, std::int64_t z,
                                             const Box& box) {
  if (type != VoxelType::f32) return std::nullopt;  // no other type of a file has such voxels
  const std::size_t count = bytes.size() / sizeof(float);
  std::size_t index = 0;
  while (index < count && std::isfinite(voxel_at(bytes, index))) ++index;
  if (index == count) return std::nullopt;
  const Vec3 n = box.extent();
  const auto at = static_cast<std::int64_t>(index);
  const Vec3 position{z, box.start.y + at / n.x % n.y, box.start.x + at % n.x};
  return NonfiniteVoxel{at / (n.y * n.x), position, voxel_at(bytes, index)};
}

}  // namespace znni::client
