#include "client/files/voxel_type.hpp"

#include <array>
#include <cstring>

namespace znni::client {
namespace {

struct Names {
  VoxelType type;
  std::int64_t bytes;
  const char* wire;
  const char* numpy;
};
constexpr std::array<Names, 6> table = {{{VoxelType::u8, 1, "UINT8", "uint8"},
                                         {VoxelType::u16, 2, "UINT16", "uint16"},
                                         {VoxelType::f16, 2, "FP16", "float16"},
                                         {VoxelType::f32, 4, "FP32", "float32"},
                                         {VoxelType::u32, 4, "UINT32", "uint32"},
                                         {VoxelType::u64, 8, "UINT64", "uint64"}}};

const Names& row(VoxelType type) { return table[static_cast<std::size_t>(type)]; }

template <class Voxel>
void normalise_as(std::span<const std::byte> in, float scale, float offset, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Voxel voxel{};
    std::memcpy(&voxel, in.data() + i * sizeof(Voxel), sizeof(Voxel));
    out[i] = static_cast<float>(voxel) * scale + offset;
  }
}

}  // namespace

std::int64_t voxel_bytes(VoxelType type) { return row(type).bytes; }
std::optional<VoxelType> unsigned_type(std::int64_t bytes) {
  for (const VoxelType type : {VoxelType::u8, VoxelType::u16, VoxelType::u32, VoxelType::u64}) {
    if (voxel_bytes(type) == bytes) return type;
  }
  return std::nullopt;
}

std::string wire_name(VoxelType type) { return row(type).wire; }
std::string numpy_name(VoxelType type) { return row(type).numpy; }

Result<VoxelType> parse_voxel_type(const std::string& name) {
  for (const Names& names : table) {
    if (name == names.numpy && !is_label_type(names.type)) return names.type;
  }
  return Error{ErrorCode::invalid_argument,
               "'" + name + "' is not a voxel type: use uint8, uint16, float16 or float32"};
}

void normalise(std::span<const std::byte> in, VoxelType type, float scale, float offset, std::span<float> out) {
  ensure(type != VoxelType::f16 && !is_label_type(type), "input of these types is not read");
  if (type == VoxelType::u8) return normalise_as<std::uint8_t>(in, scale, offset, out);
  if (type == VoxelType::u16) return normalise_as<std::uint16_t>(in, scale, offset, out);
  normalise_as<float>(in, scale, offset, out);
}

}  // namespace znni::client
