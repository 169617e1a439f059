// Small volumes in files.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "client/files/files.hpp"
#include "tests/client/scratch.hpp"

namespace znni::test {

template <class Voxel>
client::VoxelType type_of_voxel() {
  using client::VoxelKind;
  const VoxelKind whole = std::is_signed_v<Voxel> ? VoxelKind::signed_whole : VoxelKind::unsigned_whole;
  return client::voxel_type(std::is_floating_point_v<Voxel> ? VoxelKind::real : whole, sizeof(Voxel)).value();
}

// Writes [channels][n.z][n.y][n.x] to a file; its ending says the format.
template <class Voxel>
void write_volume(const std::string& name, Vec3 n, const std::vector<Voxel>& voxels) {
  const std::int64_t plane = n.y * n.x;
  const client::VolumeFacts facts{std::ssize(voxels) / (plane * n.z), n, type_of_voxel<Voxel>()};
  const Result<client::VolumeTarget> target = client::open_target(client::parse_file_name(name), facts, 0);
  ASSERT_TRUE(target) << target.error().message;
  for (std::int64_t z = 0; z < n.z; ++z) {
    std::vector<std::byte> bytes;
    for (std::int64_t channel = 0; channel < facts.channels; ++channel) {
      const auto* first = reinterpret_cast<const std::byte*>(voxels.data() + (channel * n.z + z) * plane);
      bytes.insert(bytes.end(), first, first + plane * static_cast<std::int64_t>(sizeof(Voxel)));
    }
    ASSERT_TRUE(target->write_plane(z, {{}, n}, bytes));
  }
  ASSERT_TRUE(target->finish());
}

// Returns `count` voxels that follow from their number.
template <class Voxel>
std::vector<Voxel> some_voxels(std::int64_t count, std::uint64_t classes) {
  std::vector<Voxel> voxels;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t mixed = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15ULL;
    voxels.push_back(static_cast<Voxel>((mixed >> 33) % classes));
  }
  return voxels;
}

}  // namespace znni::test
