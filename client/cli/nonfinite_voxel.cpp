#include "client/cli/nonfinite_voxel.hpp"

#include <cstring>

namespace znni::client {
namespace {

// Returns the index of the first voxel of which all bits of the exponent are set; the number of voxels if there is
// none.
template <class Bits>
std::size_t first_nonfinite(std::span<const std::byte> bytes, Bits exponent) {
  const std::size_t count = bytes.size() / sizeof(Bits);
  for (std::size_t index = 0; index < count; ++index) {
    Bits bits = 0;
    std::memcpy(&bits, bytes.data() + index * sizeof(Bits), sizeof(Bits));
    if ((bits & exponent) == exponent) return index;
  }
  return count;
}

}  // namespace

std::string to_string(const NonfiniteVoxel& voxel) {
  return "channel " + std::to_string(voxel.channel) + ", z " + std::to_string(voxel.at.z) + ", y " +
         std::to_string(voxel.at.y) + ", x " + std::to_string(voxel.at.x) + " (" + std::to_string(voxel.value) + ")";
}

std::optional<NonfiniteVoxel> find_nonfinite(std::span<const std::byte> bytes, VoxelType type, std::int64_t z,
                                             const Box& box) {
  if (type != VoxelType::f32 && type != VoxelType::f16) return std::nullopt;  // no other that is sent has such voxels
  const auto width = static_cast<std::size_t>(voxel_bytes(type));
  const std::size_t index = type == VoxelType::f32 ? first_nonfinite<std::uint32_t>(bytes, 0x7f800000U)
                                                   : first_nonfinite<std::uint16_t>(bytes, 0x7c00U);
  if (index * width == bytes.size()) return std::nullopt;
  const Vec3 n = box.extent();
  const auto at = static_cast<std::int64_t>(index);
  NonfiniteVoxel found{at / (n.y * n.x), {z, box.start.y + at / n.x % n.y, box.start.x + at % n.x}};
  normalise(bytes.subspan(index * width, width), type, 1, 0, {&found.value, 1});
  return found;
}

}  // namespace znni::client
